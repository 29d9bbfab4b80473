#compdef yieldpoint
# zsh completion: bash's, by zsh's own emulation of it. A test program, by whichever path it is called, has it after
#
#   autoload -U compinit && compinit
#   autoload -U +X bashcompinit && bashcompinit
#   source /usr/local/share/bash-completion/completions/yieldpoint
#   complete -F _yieldpoint_suite my-suite

autoload -U +X bashcompinit && bashcompinit
# Where `meson install` has put it; it has a function of this name too, which takes the place of this file.
source "${functions_source[_yieldpoint]:A:h}/../../bash-completion/completions/yieldpoint"
_bash_complete -F _yieldpoint
