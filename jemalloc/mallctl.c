// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/mallctl.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

#define READ MALLCTL_READ
#define WRITE MALLCTL_WRITE
#define BOTH (MALLCTL_READ | MALLCTL_WRITE)

#define CTL(n, t, a, s, ...)                                                         \
	{                                                                            \
		.name = n, .type = MALLCTL_##t, .access = a, .since = s, __VA_ARGS__ \
	}
#define PROF .needs_prof = true
#define THREAD .per_thread = true
#define EPOCH .needs_epoch = true
#define DANGER(why) .danger = why

/* Why a name is refused, where several share a reason. */
#define OWN_THREAD "it returns an address in a thread that exits after the call"
#define OWNER "the cache belongs to the code of the program that created it"
#define MEMORY "it frees memory that the program is using"
#define CODE "it takes the address of code in the program"
#define STAYS "the arena it creates is permanent"
#define STRUCTURE "it returns a structure that differs between versions"
#define ADDRESSES "it takes addresses in the program"

/* Name, type, access, since (empty: 3.6 has it), and further properties. */
const struct mallctl mallctl_table[] = {
	CTL("version", STRING, READ, ""),
	CTL("epoch", U64, BOTH, ""),
	CTL("background_thread", BOOL, BOTH, "5.0.0"),
	CTL("max_background_threads", SIZE, BOTH, "5.1.0"),
	CTL("config.debug", BOOL, READ, ""),
	CTL("config.fill", BOOL, READ, ""),
	CTL("config.lazy_lock", BOOL, READ, ""),
	CTL("config.prof", BOOL, READ, ""),
	CTL("config.prof_libgcc", BOOL, READ, ""),
	CTL("config.prof_libunwind", BOOL, READ, ""),
	CTL("config.stats", BOOL, READ, ""),
	CTL("config.utrace", BOOL, READ, ""),
	CTL("config.xmalloc", BOOL, READ, ""),
	CTL("config.cache_oblivious", BOOL, READ, "4.0.0"),
	CTL("config.malloc_conf", STRING, READ, "4.1.0"),
	CTL("config.opt_safety_checks", BOOL, READ, "5.3.0"),
	CTL("config.prof_frameptr", BOOL, READ, "5.3.1"),
	CTL("opt.abort", BOOL, READ, ""),
	CTL("opt.stats_print", BOOL, READ, ""),
	CTL("opt.zero", BOOL, READ, ""),
	CTL("opt.utrace", BOOL, READ, ""),
	CTL("opt.xmalloc", BOOL, READ, ""),
	CTL("opt.tcache", BOOL, READ, ""),
	CTL("opt.abort_conf", BOOL, READ, "5.0.0"),
	CTL("opt.confirm_conf", BOOL, READ, "5.2.0"),
	CTL("opt.cache_oblivious", BOOL, READ, "5.3.0"),
	CTL("opt.metadata_thp", STRING, READ, "5.1.0"),
	CTL("opt.trust_madvise", BOOL, READ, "5.3.0"),
	CTL("opt.retain", BOOL, READ, "5.0.0"),
	CTL("opt.dss", STRING, READ, ""),
	CTL("opt.narenas", U32, READ, ""),
	CTL("opt.percpu_arena", STRING, READ, "5.0.0"),
	CTL("opt.oversize_threshold", SIZE, READ, "5.2.0"),
	CTL("opt.background_thread", BOOL, READ, "5.0.0"),
	CTL("opt.max_background_threads", SIZE, READ, "5.1.0"),
	CTL("opt.dirty_decay_ms", SSIZE, READ, "5.0.0"),
	CTL("opt.muzzy_decay_ms", SSIZE, READ, "5.0.0"),
	CTL("opt.stats_print_opts", STRING, READ, "5.1.0"),
	CTL("opt.stats_interval", SSIZE, READ, "5.3.0"),
	CTL("opt.stats_interval_opts", STRING, READ, "5.3.0"),
	CTL("opt.junk", STRING, READ, "4.0.0"),
	CTL("opt.thp", STRING, READ, "5.1.0"),
	CTL("opt.tcache_max", SIZE, READ, "5.3.0"),
	CTL("opt.lg_tcache_max", SIZE, READ, ""),
	CTL("opt.tcache_nslots_small_min", U32, READ, "5.3.0"),
	CTL("opt.tcache_nslots_small_max", U32, READ, "5.3.0"),
	CTL("opt.tcache_nslots_large", U32, READ, "5.3.0"),
	CTL("opt.lg_tcache_nslots_mul", SSIZE, READ, "5.3.0"),
	CTL("opt.tcache_gc_incr_bytes", SIZE, READ, "5.3.0"),
	CTL("opt.tcache_gc_delay_bytes", SIZE, READ, "5.3.0"),
	CTL("opt.lg_tcache_flush_small_div", U32, READ, "5.3.0"),
	CTL("opt.lg_tcache_flush_large_div", U32, READ, "5.3.0"),
	CTL("opt.lg_extent_max_active_fit", SIZE, READ, "5.1.0"),
	CTL("opt.zero_realloc", STRING, READ, "5.3.0"),
	CTL("opt.mutex_max_spin", SSIZE, READ, "5.3.0"),
	CTL("opt.lg_san_uaf_align", SSIZE, READ, "5.3.0"),
	CTL("opt.experimental_infallible_new", BOOL, READ, "5.3.0"),
	CTL("opt.hpa", BOOL, READ, "5.3.0"),
	CTL("opt.hpa_slab_max_alloc", SIZE, READ, "5.3.0"),
	CTL("opt.hpa_hugification_threshold", SIZE, READ, "5.3.0"),
	CTL("opt.hpa_hugify_delay_ms", U64, READ, "5.3.0"),
	CTL("opt.hpa_min_purge_interval_ms", U64, READ, "5.3.0"),
	CTL("opt.hpa_dirty_mult", U32, READ, "5.3.0"),
	CTL("opt.hpa_sec_nshards", SIZE, READ, "5.3.0"),
	CTL("opt.hpa_sec_max_alloc", SIZE, READ, "5.3.0"),
	CTL("opt.hpa_sec_max_bytes", SIZE, READ, "5.3.0"),
	CTL("opt.hpa_sec_bytes_after_flush", SIZE, READ, "5.3.0"),
	CTL("opt.hpa_sec_batch_fill_extra", SIZE, READ, "5.3.0"),
	CTL("opt.prof", BOOL, READ, ""),
	CTL("opt.prof_prefix", STRING, READ, ""),
	CTL("opt.prof_active", BOOL, READ, ""),
	CTL("opt.prof_thread_active_init", BOOL, READ, "4.0.0"),
	CTL("opt.lg_prof_sample", SIZE, READ, ""),
	CTL("opt.lg_prof_interval", SSIZE, READ, ""),
	CTL("opt.prof_gdump", BOOL, READ, ""),
	CTL("opt.prof_final", BOOL, READ, ""),
	CTL("opt.prof_leak", BOOL, READ, ""),
	CTL("opt.prof_accum", BOOL, READ, ""),
	CTL("opt.prof_leak_error", BOOL, READ, "5.3.0"),
	CTL("opt.prof_recent_alloc_max", SSIZE, READ, "5.3.0"),
	CTL("opt.prof_stats", BOOL, READ, "5.3.0"),
	CTL("opt.prof_sys_thread_name", BOOL, READ, "5.3.0"),
	CTL("opt.prof_time_resolution", STRING, READ, "5.3.0"),
	CTL("opt.prof_bt_max", U32, READ, "5.3.1"),
	CTL("opt.prof_pid_namespace", BOOL, READ, "5.3.1"),
	CTL("thread.arena", U32, BOTH, "", THREAD,
	    DANGER("it affects only the calling thread, which does not belong to the program")),
	CTL("thread.allocated", U64, READ, "", THREAD),
	CTL("thread.deallocated", U64, READ, "", THREAD),
	CTL("thread.allocatedp", U64, READ, "", THREAD, DANGER(OWN_THREAD)),
	CTL("thread.deallocatedp", U64, READ, "", THREAD, DANGER(OWN_THREAD)),
	CTL("thread.peak.read", U64, READ, "5.3.0", THREAD),
	CTL("thread.peak.reset", VOID, WRITE, "5.3.0", THREAD),
	CTL("thread.tcache.enabled", BOOL, BOTH, "", THREAD),
	CTL("thread.tcache.flush", VOID, WRITE, "", THREAD),
	CTL("thread.idle", VOID, WRITE, "5.3.0", THREAD),
	CTL("thread.prof.name", STRING, BOTH, "4.0.0", PROF, THREAD),
	CTL("thread.prof.active", BOOL, BOTH, "4.0.0", PROF, THREAD),
	CTL("tcache.create", U32, READ, "4.0.0",
	    DANGER("the cache it creates would never be used or destroyed")),
	CTL("tcache.flush", U32, WRITE, "4.0.0", DANGER(OWNER)),
	CTL("tcache.destroy", U32, WRITE, "4.0.0", DANGER(OWNER)),
	CTL("arena.<i>.initialized", BOOL, READ, "5.0.0"),
	CTL("arena.<i>.decay", VOID, WRITE, "4.1.0"),
	CTL("arena.<i>.purge", VOID, WRITE, ""),
	CTL("arena.<i>.reset", VOID, WRITE, "4.3.0", DANGER(MEMORY)),
	CTL("arena.<i>.destroy", VOID, WRITE, "5.0.0", DANGER(MEMORY)),
	CTL("arena.<i>.dss", STRING, BOTH, ""),
	CTL("arena.<i>.dirty_decay_ms", SSIZE, BOTH, "5.0.0"),
	CTL("arena.<i>.muzzy_decay_ms", SSIZE, BOTH, "5.0.0"),
	CTL("arena.<i>.retain_grow_limit", SIZE, BOTH, "5.1.0"),
	CTL("arena.<i>.oversize_threshold", SIZE, BOTH, "5.3.0"),
	CTL("arena.<i>.name", STRING, BOTH, "5.3.1"),
	CTL("arena.<i>.extent_hooks", U64, BOTH, "5.0.0", DANGER(CODE)),
	CTL("arenas.narenas", U32, READ, ""),
	CTL("arenas.dirty_decay_ms", SSIZE, BOTH, "5.0.0"),
	CTL("arenas.muzzy_decay_ms", SSIZE, BOTH, "5.0.0"),
	CTL("arenas.quantum", SIZE, READ, ""),
	CTL("arenas.page", SIZE, READ, ""),
	CTL("arenas.tcache_max", SIZE, READ, ""),
	CTL("arenas.nbins", U32, READ, ""),
	CTL("arenas.nhbins", U32, READ, ""),
	CTL("arenas.nlextents", U32, READ, "5.0.0"),
	CTL("arenas.bin.<i>.size", SIZE, READ, ""),
	CTL("arenas.bin.<i>.nregs", U32, READ, ""),
	CTL("arenas.bin.<i>.slab_size", SIZE, READ, "5.0.0"),
	CTL("arenas.bin.<i>.nshards", U32, READ, "5.2.0"),
	CTL("arenas.lextent.<i>.size", SIZE, READ, "5.0.0"),
	CTL("arenas.create", U32, BOTH, "5.0.0", DANGER(STAYS)),
	CTL("arenas.lookup", U32, BOTH, "5.1.0", DANGER("it takes an address in the program")),
	CTL("prof.active", BOOL, BOTH, "", PROF),
	CTL("prof.thread_active_init", BOOL, BOTH, "4.0.0", PROF),
	CTL("prof.dump", STRING, WRITE, "", PROF),
	CTL("prof.gdump", BOOL, BOTH, "4.0.0", PROF),
	CTL("prof.prefix", STRING, WRITE, "5.3.0", PROF),
	CTL("prof.reset", SIZE, WRITE, "4.0.0", PROF),
	CTL("prof.lg_sample", SIZE, READ, "4.0.0", PROF),
	CTL("prof.interval", U64, READ, "", PROF),
	CTL("prof.log_start", STRING, WRITE, "5.2.0", PROF,
	    DANGER("it permanently makes jemalloc write a file when the process exits")),
	CTL("prof.log_stop", VOID, WRITE, "5.2.0", PROF),
	CTL("prof.stats.bins.<i>.live", U64, READ, "5.3.0", PROF, DANGER(STRUCTURE)),
	CTL("prof.stats.bins.<i>.accum", U64, READ, "5.3.0", PROF, DANGER(STRUCTURE)),
	CTL("prof.stats.lextents.<i>.live", U64, READ, "5.3.0", PROF, DANGER(STRUCTURE)),
	CTL("prof.stats.lextents.<i>.accum", U64, READ, "5.3.0", PROF, DANGER(STRUCTURE)),
	CTL("experimental.hooks.install", U64, WRITE, "5.2.0", DANGER(CODE)),
	CTL("experimental.hooks.remove", U64, WRITE, "5.2.0", DANGER(CODE)),
	CTL("experimental.hooks.prof_backtrace", U64, BOTH, "5.3.0", PROF, DANGER(CODE)),
	CTL("experimental.hooks.prof_dump", U64, BOTH, "5.3.0", PROF, DANGER(CODE)),
	CTL("experimental.hooks.safety_check_abort", U64, BOTH, "5.3.0", DANGER(CODE)),
	CTL("experimental.hooks.prof_sample", U64, BOTH, "5.3.1", PROF, DANGER(CODE)),
	CTL("experimental.hooks.prof_sample_free", U64, BOTH, "5.3.1", PROF, DANGER(CODE)),
	CTL("experimental.prof_recent.alloc_max", SSIZE, BOTH, "5.3.0", PROF),
	CTL("experimental.prof_recent.alloc_dump", U64, WRITE, "5.3.0", PROF, DANGER(CODE)),
	CTL("experimental.thread.activity_callback", U64, BOTH, "5.3.0", DANGER(CODE)),
	CTL("experimental.utilization.query", U64, BOTH, "5.2.0", DANGER(ADDRESSES)),
	CTL("experimental.utilization.batch_query", U64, BOTH, "5.2.0", DANGER(ADDRESSES)),
	CTL("experimental.batch_alloc", U64, BOTH, "5.3.0", DANGER(ADDRESSES)),
	CTL("experimental.arenas.<i>.pactivep", U64, READ, "5.2.0",
	    DANGER("it returns an address in the program")),
	CTL("experimental.arenas_create_ext", U32, BOTH, "5.3.0", DANGER(STAYS)),
	CTL("stats.allocated", SIZE, READ, "", EPOCH),
	CTL("stats.active", SIZE, READ, "", EPOCH),
	CTL("stats.mapped", SIZE, READ, "", EPOCH),
	CTL("stats.metadata", SIZE, READ, "4.0.0", EPOCH),
	CTL("stats.metadata_edata", SIZE, READ, "5.3.1", EPOCH),
	CTL("stats.metadata_rtree", SIZE, READ, "5.3.1", EPOCH),
	CTL("stats.metadata_thp", SIZE, READ, "5.1.0", EPOCH),
	CTL("stats.resident", SIZE, READ, "4.0.0", EPOCH),
	CTL("stats.retained", SIZE, READ, "4.2.0", EPOCH),
	CTL("stats.zero_reallocs", SIZE, READ, "5.3.0", EPOCH),
	CTL("approximate_stats.active", SIZE, READ, "5.3.1"),
	CTL("stats.background_thread.num_threads", SIZE, READ, "5.0.0", EPOCH),
	CTL("stats.background_thread.num_runs", U64, READ, "5.0.0", EPOCH),
	CTL("stats.background_thread.run_interval", U64, READ, "5.0.0", EPOCH),
	CTL("stats.mutexes.reset", VOID, WRITE, "5.0.0"),
	CTL("stats.mutexes.<mutex>.num_ops", U64, READ, "5.0.0", EPOCH),
	CTL("stats.mutexes.<mutex>.num_wait", U64, READ, "5.0.0", EPOCH),
	CTL("stats.mutexes.<mutex>.num_spin_acq", U64, READ, "5.0.0", EPOCH),
	CTL("stats.mutexes.<mutex>.num_owner_switch", U64, READ, "5.0.0", EPOCH),
	CTL("stats.mutexes.<mutex>.total_wait_time", U64, READ, "5.0.0", EPOCH),
	CTL("stats.mutexes.<mutex>.max_wait_time", U64, READ, "5.0.0", EPOCH),
	CTL("stats.mutexes.<mutex>.max_num_thds", U32, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.dss", STRING, READ, "", EPOCH),
	CTL("stats.arenas.<i>.nthreads", U32, READ, "", EPOCH),
	CTL("stats.arenas.<i>.uptime", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.dirty_decay_ms", SSIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.muzzy_decay_ms", SSIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.pactive", SIZE, READ, "", EPOCH),
	CTL("stats.arenas.<i>.pdirty", SIZE, READ, "", EPOCH),
	CTL("stats.arenas.<i>.pmuzzy", SIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.mapped", SIZE, READ, "", EPOCH),
	CTL("stats.arenas.<i>.retained", SIZE, READ, "4.2.0", EPOCH),
	CTL("stats.arenas.<i>.extent_avail", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.base", SIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.internal", SIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.metadata_thp", SIZE, READ, "5.1.0", EPOCH),
	CTL("stats.arenas.<i>.resident", SIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.tcache_bytes", SIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.tcache_stashed_bytes", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.abandoned_vm", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.dirty_npurge", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.dirty_nmadvise", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.dirty_purged", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.muzzy_npurge", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.muzzy_nmadvise", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.muzzy_purged", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.small.allocated", SIZE, READ, "", EPOCH),
	CTL("stats.arenas.<i>.small.nmalloc", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.small.ndalloc", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.small.nrequests", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.small.nfills", U64, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.small.nflushes", U64, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.large.allocated", SIZE, READ, "", EPOCH),
	CTL("stats.arenas.<i>.large.nmalloc", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.large.ndalloc", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.large.nrequests", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.large.nfills", U64, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.large.nflushes", U64, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.nmalloc", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.ndalloc", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.nrequests", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.curregs", SIZE, READ, "4.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.nfills", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.nflushes", U64, READ, "", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.nslabs", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.nreslabs", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.curslabs", SIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.nonfull_slabs", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.mutex.num_ops", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.mutex.num_wait", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.mutex.num_spin_acq", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.mutex.num_owner_switch", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.mutex.total_wait_time", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.mutex.max_wait_time", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.bins.<i>.mutex.max_num_thds", U32, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.lextents.<i>.nmalloc", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.lextents.<i>.ndalloc", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.lextents.<i>.nrequests", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.lextents.<i>.curlextents", SIZE, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.extents.<i>.ndirty", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.extents.<i>.nmuzzy", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.extents.<i>.nretained", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.extents.<i>.dirty_bytes", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.extents.<i>.muzzy_bytes", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.extents.<i>.retained_bytes", SIZE, READ, "5.2.0", EPOCH),
	CTL("stats.arenas.<i>.mutexes.<mutex>.num_ops", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.mutexes.<mutex>.num_wait", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.mutexes.<mutex>.num_spin_acq", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.mutexes.<mutex>.num_owner_switch", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.mutexes.<mutex>.total_wait_time", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.mutexes.<mutex>.max_wait_time", U64, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.mutexes.<mutex>.max_num_thds", U32, READ, "5.0.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.npurge_passes", U64, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.npurges", U64, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.nhugifies", U64, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.ndehugifies", U64, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_sec_bytes", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.full_slabs.npageslabs_nonhuge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.full_slabs.npageslabs_huge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.full_slabs.nactive_nonhuge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.full_slabs.nactive_huge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.full_slabs.ndirty_nonhuge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.full_slabs.ndirty_huge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.empty_slabs.npageslabs_nonhuge", SIZE, READ, "5.3.0",
	    EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.empty_slabs.npageslabs_huge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.empty_slabs.nactive_nonhuge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.empty_slabs.nactive_huge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.empty_slabs.ndirty_nonhuge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.empty_slabs.ndirty_huge", SIZE, READ, "5.3.0", EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.nonfull_slabs.<i>.npageslabs_nonhuge", SIZE, READ, "5.3.0",
	    EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.nonfull_slabs.<i>.npageslabs_huge", SIZE, READ, "5.3.0",
	    EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.nonfull_slabs.<i>.nactive_nonhuge", SIZE, READ, "5.3.0",
	    EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.nonfull_slabs.<i>.nactive_huge", SIZE, READ, "5.3.0",
	    EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.nonfull_slabs.<i>.ndirty_nonhuge", SIZE, READ, "5.3.0",
	    EPOCH),
	CTL("stats.arenas.<i>.hpa_shard.nonfull_slabs.<i>.ndirty_huge", SIZE, READ, "5.3.0", EPOCH),
};
const size_t mallctl_table_size = sizeof(mallctl_table) / sizeof(mallctl_table[0]);

static const char *const mutexes[] = {
	"background_thread",
	"max_per_bg_thd",
	"ctl",
	"prof",
	"prof_thds_data",
	"prof_dump",
	"prof_recent_alloc",
	"prof_recent_dump",
	"prof_stats",
	"large",
	"extent_avail",
	"extents_dirty",
	"extents_muzzy",
	"extents_retained",
	"decay_dirty",
	"decay_muzzy",
	"base",
	"tcache_list",
	"hpa_shard",
	"hpa_shard_grow",
	"hpa_sec",
};

/* Values of "<mutex>" below stats.mutexes and stats.arenas.<i>.mutexes. */
static bool mallctl_is_mutex(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(mutexes) / sizeof(mutexes[0]); i++)
		if (strlen(mutexes[i]) == len && !memcmp(mutexes[i], name, len))
			return true;
	return false;
}

/* --- values --- */

#define INDEX_DIGITS_MAX 10

static bool is_number(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)s[i]))
			return false;
	return len > 0 && len <= INDEX_DIGITS_MAX;
}

static bool part_matches(const char *pattern, size_t pattern_len, const char *s, size_t len)
{
	static const char number[] = "<i>", mutex[] = "<mutex>";

	if (pattern_len == strlen(number) && !memcmp(pattern, number, pattern_len))
		return is_number(s, len);
	if (pattern_len == strlen(mutex) && !memcmp(pattern, mutex, pattern_len))
		return mallctl_is_mutex(s, len);
	return pattern_len == len && !memcmp(pattern, s, len);
}

static bool name_matches(const char *pattern, const char *name)
{
	for (;;) {
		size_t pattern_len = strcspn(pattern, "."), len = strcspn(name, ".");

		if (!part_matches(pattern, pattern_len, name, len))
			return false;
		pattern += pattern_len;
		name += len;
		if (!*pattern || !*name)
			return *pattern == *name;
		pattern++;
		name++;
	}
}

const struct mallctl *mallctl_lookup(const char *name)
{
	for (size_t i = 0; i < mallctl_table_size; i++)
		if (name_matches(mallctl_table[i].name, name))
			return &mallctl_table[i];
	return NULL;
}

size_t mallctl_size(enum mallctl_type type)
{
	static const size_t sizes[] = {
		[MALLCTL_BOOL] = 1,  [MALLCTL_U32] = 4,	   [MALLCTL_U64] = 8,  [MALLCTL_SIZE] = 8,
		[MALLCTL_SSIZE] = 8, [MALLCTL_STRING] = 8, [MALLCTL_VOID] = 0,
	};

	return sizes[type];
}

static bool parse_bool(const char *text, bool *value)
{
	static const struct {
		const char *text;
		bool value;
	} words[] = { { "true", true },	  { "1", true },  { "on", true },   { "yes", true },
		      { "false", false }, { "0", false }, { "off", false }, { "no", false } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(words[i].text, text) != 0)
			continue;
		*value = words[i].value;
		return true;
	}
	return false;
}

/* Hexadecimal, else as any other size. */
static bool parse_unsigned(const char *text, uint64_t max, uint64_t *value)
{
	struct err ignored;
	char *stop;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
	    isxdigit((unsigned char)text[2])) {
		errno = 0;
		*value = strtoull(text, &stop, 16);
		return !errno && !*stop && *value <= max;
	}
	return !text_size_parse(text, value, &ignored) && *value <= max;
}

static bool parse_typed(enum mallctl_type type, const char *text, union mallctl_value *v)
{
	uint64_t n;

	switch (type) {
	case MALLCTL_BOOL:
		return parse_bool(text, &v->b);
	case MALLCTL_U32:
		if (!parse_unsigned(text, UINT32_MAX, &n))
			return false;
		v->u32 = (uint32_t)n;
		return true;
	case MALLCTL_U64:
	case MALLCTL_SIZE:
		return parse_unsigned(text, UINT64_MAX, &v->u64);
	case MALLCTL_SSIZE:
		if (!parse_unsigned(text + (*text == '-'), INT64_MAX, &n))
			return false;
		v->i64 = *text == '-' ? -(int64_t)n : (int64_t)n;
		return true;
	case MALLCTL_STRING:
	case MALLCTL_VOID:
		break;
	}
	return false;
}

int mallctl_parse(const struct mallctl *m, const char *text, union mallctl_value *v,
		  struct err *err)
{
	static const char *const wanted[] = {
		[MALLCTL_BOOL] = "true or false",
		[MALLCTL_U32] = "a 32-bit unsigned integer",
		[MALLCTL_U64] = "a non-negative integer",
		[MALLCTL_SIZE] = "a size such as 4096, 512K or 0x1000",
		[MALLCTL_SSIZE] = "an integer",
		[MALLCTL_STRING] = "text",
		[MALLCTL_VOID] = "no value",
	};
	union mallctl_value got = { 0 };

	if (!parse_typed(m->type, text, &got))
		return err_raise(err, ERROR_VALUE_MALFORMED, .name = m->name,
				 .what = wanted[m->type], .text = text);
	*v = got;
	return 0;
}
