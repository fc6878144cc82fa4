#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Limits of control groups from within a cgroup namespace, as in containers: jeprof-ctl must see the
# same as from the host, or warn that it does not.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/groups.sh
. tests/groups.sh
# shellcheck source=tests/cgroup-namespace.sh
. tests/cgroup-namespace.sh

if ! make_group 400; then
	skip 'control groups cannot be made here' 'limits from within a cgroup namespace'
	done_testing
fi
limits_from_within
done_testing
