# SPDX-License-Identifier: Apache-2.0
# Threads with strings that are known by heart; a line on standard output now and then.
$stdout.sync = true
Thread.abort_on_exception = true
3.times do |n|
  Thread.new do
    kept = {}
    (0..).each do |i|
      kept[i % 300] = (65 + n).chr * (1 + i * 7919 % 20_000)
      raise 'memory changed' unless kept[(i + 1) % 300].to_s.delete((65 + n).chr).empty?
      sleep 0.001 if (i % 10).zero?
    end
  end
end
loop do
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  sleep 0.05
  raise 'woke up early' if Process.clock_gettime(Process::CLOCK_MONOTONIC) - began < 0.05
  puts 'on'
end
