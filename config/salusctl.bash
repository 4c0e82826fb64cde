# SPDX-License-Identifier: Apache-2.0
# Completion of salusctl's verbs in bash; which there are, its own help says.
_salusctl() {
    local verbs
    verbs=$(salusctl --help | sed -n 's/^  \([a-z]\{1,\}\( [a-z]\{1,\}\)\{0,1\}\)\( .*\)\{0,1\}$/\1/p')
    case $COMP_CWORD in
    1) verbs=$(cut -d' ' -f1 <<<"$verbs" | sort -u) ;;
    2) verbs=$(sed -n "s/^${COMP_WORDS[1]} //p" <<<"$verbs") ;;
    *) verbs= ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _salusctl salusctl
