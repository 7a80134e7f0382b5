// SPDX-License-Identifier: BSD-2-Clause
//
// syscall(): programs that call the kernel by number call it this way. Numbers whose function has an
// entry of ours go to that function, all others to the kernel. In assembly, for what is behind it may
// return on another stack (clone). What a program does with instructions of its own we do not see.
#include <sys/syscall.h>

#include <cerrno>

#ifdef __x86_64__

static_assert(SYS_read == 0 && SYS_write == 1 && SYS_pread64 == 17 && SYS_pwrite64 == 18 &&
              SYS_readv == 19 && SYS_writev == 20 && SYS_mremap == 25 && SYS_madvise == 28);

extern "C" __attribute__((used)) long softib_fs_raw_error(long result) {
    errno = static_cast<int>(-result);
    return -1;
}

__asm__(R"(
    .section .data.rel.ro, "aw"
    .balign 8
softib_fs_raw_entries:
    .quad read, write
    .zero 8 * 15
    .quad pread64, pwrite64, readv, writev
    .zero 8 * 4
    .quad mremap
    .zero 8 * 2
    .quad madvise

    .text
    .globl syscall
    .type syscall, @function
syscall:
    .cfi_startproc
    cmpq $28, %rdi
    ja 1f
    leaq softib_fs_raw_entries(%rip), %rax
    movq (%rax,%rdi,8), %r11
    testq %r11, %r11
    jz 1f
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %rcx
    movq %r9, %r8
    xorl %eax, %eax
    jmp *%r11
1:
    movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %r10
    movq %r9, %r8
    movq 8(%rsp), %r9
    syscall
    cmpq $-4095, %rax
    jae 2f
    ret
2:
    movq %rax, %rdi
    jmp softib_fs_raw_error@PLT
    .cfi_endproc
    .size syscall, .-syscall
)");

#endif  // __x86_64__
