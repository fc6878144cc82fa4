#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# guard: what it does when a rule fires, which profiles it keeps, what it refuses, and how it ends.
# tests/gate/guard.t tests which rule fires when.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guard.sh
. tests/guard.sh
# shellcheck source=tests/recording.sh
. tests/recording.sh

off=${GROWS/prof:true/prof:true,prof_active:false}
start_grower
as_before 100

# --- which files are kept ---
# fill FOLDER: create profiles of guards, for two processes, and other files
fill()
{
	local at of stem

	mkdir "$1"
	for at in 20200101T000001Z 20200101T000002Z 20200101T000003Z; do
		for of in grower.$pid other.77; do
			for stem in "$1/$of.$at.guard-"{rss,high}; do
				truncate -s 1M "$stem.heap"
				echo profile >"$stem.base.heap"
				echo document >"$stem.json"
			done
		done
	done
	for at in mine.heap notes.json "grower.$pid.20200101T000001Z.heap" "grower.$pid.20200101T000001Z.guard-rss.heap.gz" \
		"grower.$pid.guard-rss.heap" guard-rss.heap .guard-rss.heap "grower.$pid.0.f.heap" guard.json; do
		echo mine >"$1/$at"
	done
	mkdir "$1/grower.$pid.20200101T000001Z.guard-folder"
	echo away >"$1.away"
	ln -s "$1.away" "$1/grower.$pid.20200101T000000Z.guard-rss.heap"
}
# files FOLDER: list its files, without the full name of the new ones
files()
{
	find "$1" -mindepth 1 -printf '%f\n' | sed "s/^grower\.$pid\.20[^.]*\.guard-every\./new./" | sort
}
# without REGEX: list all files of fill() except the matching ones, and the new ones
without()
{
	fill "$T/filled" && files "$T/filled" | { grep -vE "$1"; printf 'new.%s\n' heap json; } | sort
	rm -r "$T/filled" "$T/filled.away"
}
kept()
{
	local name=$1 gone=$2

	shift 2
	fill "$T/$name"
	start_guard "$name" "$pid" --when 'every 1ms' --json --count 1 "$@"
	guard_ends "$name"
	is "$(files "$T/$name")" "$(without "$gone")" "$name: the files that are kept"
	is "$(<"$T/$name.away")" away "$name: no link is followed"
	is "$(<"$T/$name.err")" $'guarding 1 process\n1 profile, 0 failed' "$name: no errors"
}
# Three of each process: of grower, the new one and two of the last second; of the other process,
# those two and one of the second before.
kept keep "^(grower\\.$pid\\.20200101T00000([12]Z\\.guard-(rss|high))|other\\.77\\.20200101T00000(1|2Z\\.guard-high)).*(heap|json)$" --keep 3
kept max-bytes '\.20200101T00000([12]Z\.guard-(rss|high))\.(.*\.)?(heap|json)$' --keep 0 --max-bytes 4608K
kept least '^[a-z].*\.[0-9T]*[1-9]Z\.guard-(rss|high)\.(.*\.)?(heap|json)$' --keep 0 --max-bytes 64K
kept all '^$' --keep 0
assert_untouched "$pid" 'which files are kept: untouched'

# --- a command for each profile ---
cat >"$T/tell" <<'END'
#!/bin/sh
env | grep ^JEPROF_CTL_ | sort >"$OUT.new" && mv "$OUT.new" "$OUT"
END
chmod 755 "$T/tell"
OUT="$T/told env" start_guard hooks "$pid" --when 'rss>40M' --json --count 1 --on-profile-exec "$T/tell"
hold 60
guard_ends hooks
of()
{
	sed -n "s/^JEPROF_CTL_$1=//p" "$T/told env"
}
is "$(of PID) $(of COMM) $(of RULE) $(of OK) $(of ERROR)" "$pid grower rss>40M true " '--on-profile-exec: the process and the rule'
is "$(of FILE) $(of BYTES) $(of LEVEL_BYTES) $(of LIMIT_BYTES)" \
	"$(line hooks 1 '"\(.file) \(.bytes) \(.level_bytes) \(.limit_bytes)"')" '--on-profile-exec: the file and the sizes'
is "$(of TIME)" "$(line hooks 1 .time)" '--on-profile-exec: the time'
start_guard shell "$pid" --when 'rss>40M' --json --count 1 --on-profile "test -s \"\$JEPROF_CTL_FILE\" && touch '$T/touched'; exit 3"
guard_ends shell
ok '--on-profile: it runs once the profile exists' test -e "$T/touched"
like "$(tail -n 1 "$T/shell.err")" '^1 commands? failed, 0 were not run' '--on-profile: its failure is reported'
hold 0
assert_untouched "$pid" 'commands: untouched'
stop_target "$pid"

# --- profiling is off: a warning, or it is turned on ---
start_grower "$off"
as_before 100
start_guard idle "$pid" --when 'rss>40M' --count 1
like "$(<"$T/idle.err")" "prof\\.active is false in $pid \\(grower\\).*activate $pid" 'prof.active is false: a warning'
hold 60
guard_ends idle
is "$(active_of "$pid")" false 'prof.active is false: it stays so'
hold 0
start_guard activate "$pid" --when 'rss>40M' --activate --json --count 1
ok '--activate: reported' within 60 grep -q "profiling was turned on in $pid (grower), and stays on" "$T/activate.err"
unlike "$(<"$T/activate.err")" 'prof.active is false' '--activate: no other warning'
hold 60
guard_ends activate
is "$(heaviest "$(line activate 1 .file)")" hoard '--activate: a profile with samples'
is "$(active_of "$pid")" true '--activate: it stays on'
hold 0
assert_untouched "$pid" '--activate: untouched'
stop_target "$pid"

# --- a recording ---
# A second recording needs nothing more than the first.
start_grower "$off"
as_before 100
"$CTL" "${patient[@]}" record "$pid" -d 100ms -o "$T/first.heap" >/dev/null 2>&1
snapshot "$pid"
start_guard record "$pid" --when 'rss>40M' --do 'record 1s' --json --count 1
hold 60
guard_ends record
is "$(line record 1 '[.action, .ok, .rule] | tostring')" '["record",true,"rss>40M"]' 'record: a line'
file=$(line record 1 .file)
is "$(line record 1 .before)" "${file%.heap}.base.heap" 'record: the name of the first'
ok 'record: the first profile' is_profile "${file%.heap}.base.heap"
ok 'record: the last profile' is_profile "$file"
is "$(active_of "$pid")" false 'record: it is off again'
hold 0
assert_untouched "$pid" 'record: untouched'
is_undone()
{
	is "$(active_of "$pid")" false "$1: it is off again"
	ok "$1: no journal is left" test ! -e "/run/jeprof-ctl/$pid"
	ctl_ok "$1: undo" undo --json
	is "$(json '.recordings | length')" 0 "$1: nothing is left to restore"
	hold 0
	assert_untouched "$pid" "$1: untouched"
}
is_undone record

# begins NAME: start a guard whose long recording has begun
begins()
{
	start_guard "$1" "$pid" --when 'rss>40M' --do 'record 10m' --json
	hold 60
	ok "$1: the recording has begun" within 60 eval "grep -qs prof.active /run/jeprof-ctl/$pid && is_on $pid"
}
begins interrupted
end_guard interrupted
is "$(line interrupted 1 '[.ok, .rule] | tostring')" '[true,"rss>40M"]' 'interrupted: it succeeds'
ok 'interrupted: its profile' is_profile "$(line interrupted 1 .file)"
is_undone interrupted
begins killed
kill_guard
ok 'killed: settings are restored anyway' within 60 test ! -e "/run/jeprof-ctl/$pid"
ok 'killed: its profile' within 60 eval 'is_profile "$(find "$T/killed" -name "*guard-rss.heap")"'
is_undone killed

# --- nobody reads its output ---
mkdir "$T/head"
timeout 120 "$CTL" guard "$pid" -o "$T/head" --when 'rss>4T' 2>/dev/null | head -n 1 >"$T/header"
is "${PIPESTATUS[0]}" 10 'nobody reads its output: it ends'
like "$(<"$T/header")" '^TIME ' 'nobody reads its output: the first line was written'

# --- the process ends ---
start_guard ended "$pid" --when 'rss>40M' --json
hold 60
is "$(line ended 1 .ok)" true 'the process ends: a profile before that'
stop_target "$pid"
guard_ends ended
is "$(wc -l <"$T/ended.out")" 1 'the process ends: no further line'

# --- refusals ---
start_grower
snapshot "$pid"
refused()
{
	ctl_fails 2 "$1" "refused: ${*:2}" guard "$pid" "${@:2}"
}
for rule in 'swap>1G' rss 'rss>80%/1m' event:low event: 'psi>1s' every; do
	refused 'until_unknown when_examples' --when "$rule"
done
for rule in 'psi>2s/1s' 'psi>10ms/20ms' 'psi>1s/1h' 'psi>0s/1s'; do
	refused psi_window --when "$rule"
done
refused must_be_more_than_0 --when 'every 0s'
refused 'in_until not_a_percentage' --when 'rss>x%'
refused 'action_unknown actions' --do jump
refused 'action_unknown actions' --do 'dump 30s'
refused 'action_unknown actions' --do record30s
refused exclusive --all
refused exclusive --on-profile true --on-profile-exec true
refused not_in_range --again 1000001
ctl_fails 2 watch_needs_processes 'refused: no process' guard
ctl_fails 2 exclusive 'refused: --all with a filter' guard --all --comm grower
ctl_fails 10 'output_failed' 'refused: no folder' guard "$pid" -o "$T/no-such-folder"
ctl_fails 3 no_process 'refused: no such process' guard 4194304
sleep 1000 &
own "$!"
ctl_fails 5 no_jemalloc 'refused: without jemalloc' guard "$pid" "$!"
assert_untouched "$pid" 'refused: untouched'
stop_target "$pid"
start_grower prof:false
snapshot "$pid"
ctl_fails 6 'opt_prof_false guard_by_sampling' 'refused: without prof:true' guard "$pid"
assert_untouched "$pid" 'without prof:true: untouched'

done_testing
