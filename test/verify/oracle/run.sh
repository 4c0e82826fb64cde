#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs all forms of this folder on the first GPU: run.sh OUTDIR
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1" && cd "$1" || exit 2
export CUDA_CACHE_DISABLE=1
cores=$(nproc)
{
    date -u +%FT%TZ
    nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader
    date +%s.%N
    timeout 300 "$here/oracle_run" "$here" results.bin $((cores > 8 ? 8 : cores))
    echo "oracle_run: exit $?"
    date +%s.%N
    timeout 60 "$here/oracle_sweep" sweeps.bin
    echo "oracle_sweep: exit $?"
    date +%s.%N
    gzip -6 -f -k results.bin & gzip -6 -f -k sweeps.bin & wait
    date +%s.%N
} >log.txt 2>&1
for f in results.bin sweeps.bin; do
    [ "$(stat -c %s "$f.gz")" -le 15000000 ] || { split -b 15000000 "$f.gz" "$f.gz." && rm "$f.gz"; }
    [ -n "$KEEP" ] || rm -f "$f"
done
tail -n 12 log.txt
ls -l
