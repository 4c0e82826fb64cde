# SPDX-License-Identifier: Apache-2.0
"""Tests that a daemon on the real driver cannot pass, or cannot pass yet, on a GPU or nested: test -> reason."""

OF_THE_SOFTWARE_GPU = "a real GPU has one capability, and computes"
NO_RECOVERY = "the driver ends its context, and who has a kernel under way then that is not done again fails, too"
NO_ARRAYS = "an array of the driver's goes with its context: who has one is not tried alone"
ON_HOST_MEMORY = "its kernel reads host memory, is not done again, and so not tried alone"
NO_MANAGED = "a program's __managed__ variables lie where the driver put them"
NO_GRAPHS = "the device's runtime does not know graphs of ours"
ITS_WORDS = "the driver below refuses it, in other words and at another moment"
IN_NESTING = "the window of a nested worker is too small for one more worker in it, and shows no files"

PROGRAMS = {"managed": NO_MANAGED}

TESTS = {
    "test_managed_variables": NO_MANAGED,
    "test_programs_that_are_served_hear_nothing": NO_MANAGED,
    "test_calls_answered_in_the_client_ask_nobody": NO_MANAGED,
    "test_what_is_mapped_but_not_accessible_is_not_touched": "the worker below shows all of the client's memory to it",
    "test_what_a_killed_process_lent_stays_with_who_has_it": NO_RECOVERY,
    "test_blocks_wait_for_each_other": OF_THE_SOFTWARE_GPU,
    "test_kernels_launch_kernels": OF_THE_SOFTWARE_GPU,
    "test_memory_that_kernels_allocate": "a limit of kernels is the context's, and so all jobs'",
    "test_kernels_decide_about_graphs": NO_GRAPHS,
    "test_kernels_launch_graphs": NO_GRAPHS,
    "test_kernels_change_nodes_of_graphs": NO_GRAPHS,
    "test_a_loop_without_end_holds_up_nobody_else": NO_GRAPHS,
    "test_native_code_of_nvcc_has_ptx": OF_THE_SOFTWARE_GPU,
    "test_offender_surface": NO_ARRAYS,
    "test_offender_kernel_timeout": ON_HOST_MEMORY,
    "test_kernel_fails_on_another_stream": NO_RECOVERY,
    "test_kernel_runs_too_long": NO_RECOVERY,
    "test_kernels_run_too_long_in_the_middle_of_everything": NO_RECOVERY,
    "test_bad_images": ITS_WORDS,
    "test_the_first_refused_kernel_is_said_once": ITS_WORDS,
    "test_a_strict_job_ends_at_the_first_refusal": ITS_WORDS,
    "test_a_worker_can_use_this_driver": IN_NESTING,
    "test_a_worker_hears_of_an_illegal_access_everywhere": IN_NESTING,
    "test_workers_that_are_killed_leave_nothing": IN_NESTING,
    "test_registered_files_are_one_memory_for_all": IN_NESTING,
    "test_registered_files_and_deaths_on_either_side": IN_NESTING,
    "test_registered_files_count_as_pinned": IN_NESTING,
    "test_the_device_is_described_as_ever": OF_THE_SOFTWARE_GPU,
    "test_each_job_has_the_capability_that_it_asks_for": OF_THE_SOFTWARE_GPU,
    "test_the_daemon_has_a_capability_for_those_that_ask_for_none": OF_THE_SOFTWARE_GPU,
    "test_libraries_of_nvidia_are_told_a_newer_capability": OF_THE_SOFTWARE_GPU,
    "test_null_mode_takes_machine_code_and_computes_nothing": OF_THE_SOFTWARE_GPU,
    "test_every_line_about_a_null_job_says_so": OF_THE_SOFTWARE_GPU,
    "test_null_jobs_leave_computing_ones_alone": OF_THE_SOFTWARE_GPU,
    "test_what_was_learned_of_a_null_job_is_for_its_like": OF_THE_SOFTWARE_GPU,
}


# Results on NVIDIA's driver, measured on an H200 (docs/results/2026-11-h200.md).
ON_A_GPU = {
    "test_machine_code_only": "it runs machine code",
    "test_kernels_print_as_the_host_does": "its printf writes %zu, %jd, %td, %hhd and widths by '*' as they stand",
    "test_unified_memory": "memory of the device's size is no room for one program's pinned memory",
}


def why_not(test, on_gpu):
    """Returns why the test cannot run, or None if it can. On a real GPU, the reasons of nesting do not apply."""
    why = TESTS.get(test)
    if not on_gpu:
        return why
    return ON_A_GPU.get(test) if why in (None, IN_NESTING) else why
