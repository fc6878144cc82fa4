# SPDX-License-Identifier: Apache-2.0
ARCH_CFLAGS := -fcf-protection
ARCH_HEADERS := Zydis/Zydis.h
ARCH_LIBS := -lZydis
BPF_ARCH := x86# how libbpf's headers call it
SAMPLER_ARCH_FLAGS := -mgeneral-regs-only -fcf-protection=none
