# SPDX-License-Identifier: Apache-2.0
# Completion of salusctl's verbs in bash, and of policies and their parameters, as listed by its help.
_salusctl() {
    local help verbs
    help=$(salusctl --help)
    verbs=$(sed -n 's/^  \([a-z]\{1,\}\( [a-z]\{1,\}\)\{0,1\}\)\( .*\)\{0,1\}$/\1/p' <<<"$help")
    if [ $COMP_CWORD -ge 3 ] && [ "${COMP_WORDS[1]} ${COMP_WORDS[2]}" = "policy set" ]; then
        _salusctl_policy "$help"
        return
    fi
    if [ "${COMP_WORDS[1]}" = run ] && [ "${COMP_WORDS[COMP_CWORD - 1]}" = --device-mode ]; then
        mapfile -t COMPREPLY < <(compgen -W "compute null" -- "${COMP_WORDS[COMP_CWORD]}")
        return
    fi
    if [ "${COMP_WORDS[1]}" = run ] && [ "${COMP_WORDS[COMP_CWORD - 1]}" = --allocator ]; then
        mapfile -t COMPREPLY < <(compgen -W "own async" -- "${COMP_WORDS[COMP_CWORD]}")
        return
    fi
    if [ $COMP_CWORD -ge 3 ] && [ "${COMP_WORDS[COMP_CWORD - 1]}" = --gpu ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_salusctl_gpus)" -- "${COMP_WORDS[COMP_CWORD]}")
        return
    fi
    if [ "${COMP_WORDS[1]}" = run ] && [[ ${COMP_WORDS[COMP_CWORD]} == -* ]]; then
        verbs=$(_salusctl_section "Options of run:" <<<"$help")
        mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "${COMP_WORDS[COMP_CWORD]}")
        return
    fi
    case $COMP_CWORD in
    1) verbs=$(cut -d' ' -f1 <<<"$verbs" | sort -u) ;;
    2) verbs=$(sed -n "s/^${COMP_WORDS[1]} //p" <<<"$verbs") ;;
    *) verbs= ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "${COMP_WORDS[COMP_CWORD]}")
}
# The first words of the lines under a heading of the help.
_salusctl_section() { # HEADING
    sed -n "/^$1/,/^[^ ]/s/^    \([a-z-]\{1,\}\) .*/\1/p"
}
_salusctl_gpus() {
    salusctl --plain --no-header --timeout 1 gpu list 2>/dev/null | cut -f1
}
_salusctl_policy() {
    local help=$1 words
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --lane) words=$(_salusctl_section "Lane policies:" <<<"$help") ;;
    --gpu) words=$(_salusctl_gpus) ;;
    --kernel) words=$(_salusctl_section "Kernel policies:" <<<"$help") ;;
    --control) words=$(_salusctl_section "Controllers:" <<<"$help") ;;
    *)
        words="--gpu --lane --kernel --control --dry-run $(sed -n 's/^    \([a-z_]*=\).*/\1/p' <<<"$help")"
        compopt -o nospace 2>/dev/null
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _salusctl salusctl
