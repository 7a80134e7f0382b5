// SPDX-License-Identifier: BSD-2-Clause
//
// syscall(), by which programs call the kernel by number. Calls that move data pass the gate
// (io_gate.h), those on memory go to memory.cc, those that begin io_uring or aio go to async_io.cc,
// and all others go to the kernel. It is in assembly, because a call may return on another stack
// (clone). System calls that a program makes by its own instructions are not seen.
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>

#include "abi/sysfs/io_gate.h"
#include "runtime/shm/kernel_call.h"

#ifdef __x86_64__

static_assert(SYS_read == 0 && SYS_write == 1 && SYS_pread64 == 17 && SYS_pwrite64 == 18 &&
              SYS_readv == 19 && SYS_writev == 20 && SYS_mremap == 25 && SYS_madvise == 28 &&
              SYS_io_setup == 206 && SYS_io_uring_setup == 425);

namespace softib::sysfs {

using shm::kernel_call;

extern "C" {

__attribute__((used)) long softib_fs_raw_error(long result) {
    errno = static_cast<int>(-result);
    return -1;
}

__attribute__((used)) long softib_fs_raw_read(int fd, void* at, std::size_t length) {
    const IoPass pass(at, length);
    return kernel_call(SYS_read, fd, at, length);
}

__attribute__((used)) long softib_fs_raw_write(int fd, const void* at, std::size_t length) {
    const IoPass pass(at, length);
    return kernel_call(SYS_write, fd, at, length);
}

__attribute__((used)) long softib_fs_raw_pread(int fd, void* at, std::size_t length, long place) {
    const IoPass pass(at, length);
    return kernel_call(SYS_pread64, fd, at, length, place);
}

__attribute__((used)) long softib_fs_raw_pwrite(int fd, const void* at, std::size_t length,
                                                long place) {
    const IoPass pass(at, length);
    return kernel_call(SYS_pwrite64, fd, at, length, place);
}

__attribute__((used)) long softib_fs_raw_readv(int fd, const iovec* at, std::size_t count) {
    const IoPass pass(at, count);
    return kernel_call(SYS_readv, fd, at, count);
}

__attribute__((used)) long softib_fs_raw_writev(int fd, const iovec* at, std::size_t count) {
    const IoPass pass(at, count);
    return kernel_call(SYS_writev, fd, at, count);
}

}  // extern "C"

}  // namespace softib::sysfs

__asm__(R"(
    .section .data.rel.ro, "aw"
    .balign 8
softib_fs_raw_entries:
    .quad softib_fs_raw_read, softib_fs_raw_write
    .zero 8 * 15
    .quad softib_fs_raw_pread, softib_fs_raw_pwrite, softib_fs_raw_readv, softib_fs_raw_writev
    .zero 8 * 4
    .quad softib_fs_raw_mremap
    .zero 8 * 2
    .quad softib_fs_raw_madvise

    .text
    .globl syscall
    .type syscall, @function
syscall:
    .cfi_startproc
    cmpq $28, %rdi
    ja 3f
    leaq softib_fs_raw_entries(%rip), %rax
    movq (%rax,%rdi,8), %r11
    testq %r11, %r11
    jz 1f
4:
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
3:
    leaq softib_fs_raw_io_uring_setup(%rip), %r11
    cmpq $425, %rdi
    je 4b
    leaq softib_fs_raw_io_setup(%rip), %r11
    cmpq $206, %rdi
    je 4b
    jmp 1b
2:
    movq %rax, %rdi
    jmp softib_fs_raw_error@PLT
    .cfi_endproc
    .size syscall, .-syscall
)");

#endif  // __x86_64__
