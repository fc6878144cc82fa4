#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The installed completions, in bash, zsh and fish, as keys are typed.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF
ok 'make install' make -s install PREFIX="$T/usr"
export PATH=$T/usr/sbin:$PATH
name='$(>here)'
cp "$VICTIMS/idle" "$T/$name"
start_victim "$T/$name"
snapshot "$pid"
mkdir "$T/folder" "$T/home"
touch "$T/folder/profile.heap"
# Leave the last digit of the pid for the shell to complete.
begun=${pid:0:-1}
others=$("$CTL" -q list -o pid | sed 1d | grep -c "^$begun")

cat >"$T/bashrc" <<SH
PS1='ready> '
. $T/usr/share/bash-completion/completions/jeprof-ctl
bind 'set bell-style none'
SH
cat >"$T/zshrc" <<SH
PS1='ready> '
fpath=($T/usr/share/zsh/site-functions \$fpath)
autoload -U compinit && compinit -D -u
unsetopt beep
SH
cp "$T/zshrc" "$T/home/.zshrc"

# typed SHELL KEYS WANTED: type KEYS, and wait until the line is WANTED
typed()
{
	(cd "$T/folder" && HOME=$T/home ZDOTDIR=$T/home TERM=dumb SHELL_RC=$T/bashrc python3 - "$@") <<'PYTHON'
import os, pty, select, sys, time
shell, keys, wanted = sys.argv[1:]
argv = {"bash": ["bash", "--norc", "--rcfile", os.environ["SHELL_RC"], "-i"], "zsh": ["zsh", "-i"]}[shell]
if shell == "bash":
    argv.remove("--norc")
pid, fd = pty.fork()
if not pid:
    os.execvp(argv[0], argv)
said, sent, end = b"", False, time.time() + 60
while time.time() < end and wanted.encode() not in said.replace(b"\r", b""):
    if select.select([fd], [], [], 0.2)[0]:
        try:
            said += os.read(fd, 4096)
        except OSError:
            break
    if not sent and b"ready> " in said:
        os.write(fd, keys.encode())
        said, sent = b"", True
found = wanted.encode() in said.replace(b"\r", b"")
os.kill(pid, 9)
os.waitpid(pid, 0)
print(said)
sys.exit(not found)
PYTHON
}

for shell in bash zsh; do
	ok "$shell: a command" typed "$shell" $'jeprof-ctl deac\t' 'deactivate '
	ok "$shell: an option" typed "$shell" $'jeprof-ctl record --dura\t' '--duration'
	ok "$shell: a format" typed "$shell" $'jeprof-ctl report -f speed\t' 'speedscope '
	ok "$shell: a file" typed "$shell" $'jeprof-ctl report prof\t' 'profile.heap '
	if [ "$others" -eq 1 ]; then
		ok "$shell: a pid" typed "$shell" "jeprof-ctl status $begun"$'\t' "$pid "
	fi
	ok "$shell: a name, quoted" typed "$shell" $'jeprof-ctl status --comm \\$\t' '\$\(\>here\) '
done

# fished WORDS: print what fish offers
fished()
{
	HOME=$T/home XDG_DATA_DIRS=$T/usr/share:/usr/share fish --no-config -c \
		"set fish_complete_path $T/usr/share/fish/vendor_completions.d; cd $T/folder; complete -C '$1'"
}
like "$(fished 'jeprof-ctl deac')" ^deactivate 'fish: a command'
like "$(fished 'jeprof-ctl record --dura')" ^--duration 'fish: an option'
like "$(fished 'jeprof-ctl report -f speed')" ^speedscope 'fish: a format'
like "$(fished 'jeprof-ctl report prof')" ^profile.heap 'fish: a file'
like "$(fished "jeprof-ctl status $pid")" "^$pid"$'\t'".*here" 'fish: a pid, and whose it is'
like "$(fished 'jeprof-ctl status --comm ')" 'here' 'fish: a name'
is "$(find "$T" -name here)" '' 'nothing of it was evaluated'
assert_untouched "$pid"

done_testing
