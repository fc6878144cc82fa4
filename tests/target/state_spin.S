/* SPDX-License-Identifier: Apache-2.0 */
/*
 * void spin(const struct cpu *want, struct cpu *got, uint64_t loops, uint32_t vectors)
 *
 * Load the processor's state from *want, count down, store it in *got. Between loading and storing,
 * no instruction touches that state: jrcxz, lea and jmp leave the flags alone.
 * The offsets are those of struct cpu (state.c). %rcx is the counter, and then the pointer to *got.
 */
#define FLAGS 112
#define RED_ZONE 128
#define MASKS 256
#define FXSAVE 320
#define VECTORS 832

	.text
	.globl	spin
	.type	spin, @function
spin:
	.cfi_startproc
	.irp	r, rbx, rbp, r12, r13, r14, r15
	pushq	%\r
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \r, 0
	.endr
	subq	$72, %rsp
	.cfi_adjust_cfa_offset 72
	movq	%rsi, 0(%rsp)
	movq	%rdx, 8(%rsp)
	movl	%ecx, 24(%rsp)
	fnstcw	32(%rsp)
	stmxcsr	36(%rsp)

	fxrstor	FXSAVE(%rdi)
	cmpl	$2, %ecx
	je	.Lload512
	cmpl	$1, %ecx
	jne	.Lloaded
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovdqa	VECTORS + 64 * \n(%rdi), %ymm\n
	.endr
	jmp	.Lloaded
.Lload512:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovdqa64 VECTORS + 64 * \n(%rdi), %zmm\n
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovdqa64 VECTORS + 64 * \n(%rdi), %zmm\n
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	MASKS + 8 * \n(%rdi), %k\n
	.endr
.Lloaded:
	pushq	FLAGS(%rdi)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movq	RED_ZONE + 8 * \n(%rdi), %rax
	movq	%rax, -128 + 8 * \n(%rsp)
	.endr
	movq	8(%rsp), %rcx
	movq	0(%rdi), %rax
	movq	8(%rdi), %rbx
	movq	16(%rdi), %rdx
	movq	24(%rdi), %rsi
	movq	40(%rdi), %rbp
	movq	48(%rdi), %r8
	movq	56(%rdi), %r9
	movq	64(%rdi), %r10
	movq	72(%rdi), %r11
	movq	80(%rdi), %r12
	movq	88(%rdi), %r13
	movq	96(%rdi), %r14
	movq	104(%rdi), %r15
	movq	32(%rdi), %rdi
.Lspin:
	jrcxz	.Lspun
	leaq	-1(%rcx), %rcx
	jmp	.Lspin
.Lspun:
	movq	0(%rsp), %rcx
	movq	%rax, 0(%rcx)
	movq	%rbx, 8(%rcx)
	movq	%rdx, 16(%rcx)
	movq	%rsi, 24(%rcx)
	movq	%rdi, 32(%rcx)
	movq	%rbp, 40(%rcx)
	movq	%r8, 48(%rcx)
	movq	%r9, 56(%rcx)
	movq	%r10, 64(%rcx)
	movq	%r11, 72(%rcx)
	movq	%r12, 80(%rcx)
	movq	%r13, 88(%rcx)
	movq	%r14, 96(%rcx)
	movq	%r15, 104(%rcx)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movq	-128 + 8 * \n(%rsp), %rax
	movq	%rax, RED_ZONE + 8 * \n(%rcx)
	.endr
	pushfq
	.cfi_adjust_cfa_offset 8
	popq	FLAGS(%rcx)
	.cfi_adjust_cfa_offset -8
	pushq	$0x202
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	fxsave	FXSAVE(%rcx)
	cmpl	$2, 24(%rsp)
	je	.Lstore512
	cmpl	$1, 24(%rsp)
	jne	.Lstored
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovdqa	%ymm\n, VECTORS + 64 * \n(%rcx)
	.endr
	vzeroupper
	jmp	.Lstored
.Lstore512:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovdqa64 %zmm\n, VECTORS + 64 * \n(%rcx)
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovdqa64 %zmm\n, VECTORS + 64 * \n(%rcx)
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	%k\n, MASKS + 8 * \n(%rcx)
	.endr
	vzeroupper
.Lstored:
	fninit
	fldcw	32(%rsp)
	ldmxcsr	36(%rsp)
	addq	$72, %rsp
	.cfi_adjust_cfa_offset -72
	.irp	r, r15, r14, r13, r12, rbp, rbx
	popq	%\r
	.cfi_adjust_cfa_offset -8
	.cfi_restore \r
	.endr
	ret
	.cfi_endproc
	.size	spin, . - spin

/*
 * void tiles_load(const struct tile_config *config, const struct tiles *want)
 * void tiles_store(struct tiles *got)
 */
	.globl	tiles_load
	.type	tiles_load, @function
tiles_load:
	.cfi_startproc
	ldtilecfg (%rdi)
	movl	$64, %eax
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	tileloadd 1024 * \n(%rsi, %rax), %tmm\n
	.endr
	ret
	.cfi_endproc
	.size	tiles_load, . - tiles_load

	.globl	tiles_store
	.type	tiles_store, @function
tiles_store:
	.cfi_startproc
	movl	$64, %eax
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	tilestored %tmm\n, 1024 * \n(%rdi, %rax)
	.endr
	ret
	.cfi_endproc
	.size	tiles_store, . - tiles_store
	.section .note.GNU-stack, "", @progbits
