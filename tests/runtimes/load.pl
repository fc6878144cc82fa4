# SPDX-License-Identifier: Apache-2.0
# Strings and hashes that are known by heart; a line on standard output now and then.
use strict;
use warnings FATAL => 'all';
use Time::HiRes qw(sleep);

$| = 1;
my %kept;
for (my $i = 0;; $i++) {
	my $c = chr(65 + $i % 26);
	$kept{$i % 500} = $c x (1 + $i * 7919 % 20000);
	my $old = $kept{($i + 1) % 500} // $c;
	die 'memory changed' if $old =~ /^(.)/ && $old ne $1 x length $old;
	next if $i % 20;
	my $left = sleep(0.005);
	die 'woke up early' if $left < 0.004;
	print "on\n" if $i % 200 == 0;
}
