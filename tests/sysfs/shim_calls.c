/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls every function that the preloaded library stands in front of, on host h0 of a fabric with
 * two HCAs per host, and checks what a program on a machine with such HCAs would see. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband"
#define DEVICE CLASS "/mlx5_0"
#define PCI "/sys/devices/pcif1b0:00/f1b0:01:00.0"
#define LID DEVICE "/ports/1/lid"
#define NODE "/dev/infiniband/uverbs0"

static int failures;

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
            ++failures;                                                               \
        }                                                                             \
    } while (0)

static int reads_lid(int fd) {
    char text[32];
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0) {
        close(fd);
    }
    return n > 3 && strncmp(text, "0x", 2) == 0 && text[n - 1] == '\n';
}

static void test_open(void) {
    CHECK(reads_lid(open(LID, O_RDONLY)));
    CHECK(reads_lid(open64(LID, O_RDONLY | O_CLOEXEC)));
    CHECK(reads_lid(openat(AT_FDCWD, LID, O_RDONLY)));
    CHECK(reads_lid(open("/sys//class/./infiniband/mlx5_0/ports/1/lid", O_RDONLY)));
    CHECK(reads_lid(open("/sys/class/net/../infiniband/mlx5_0/ports/1/lid", O_RDONLY)));
    const int port = open(DEVICE "/ports/1", O_RDONLY | O_DIRECTORY);
    CHECK(reads_lid(openat(port, "lid", O_RDONLY)));
    CHECK(reads_lid(openat64(port, "./lid", O_RDONLY)));
    close(port);
    const int sys = open("/sys", O_PATH | O_DIRECTORY);
    CHECK(reads_lid(openat(sys, "class/infiniband/mlx5_0/ports/1/lid", O_RDONLY)));
    close(sys);

    errno = 0;
    CHECK(open(CLASS "/mlx5_9", O_RDONLY) == -1 && errno == ENOENT);
    errno = 0;
    CHECK(open(LID, O_WRONLY) == -1 && errno == EACCES);
    errno = 0;
    CHECK(open(CLASS "/x", O_RDWR | O_CREAT, 0600) == -1 && errno == EACCES);
    errno = 0;
    CHECK(creat(CLASS "/x", 0600) == -1 && errno == EACCES);
    const char* volatile null = NULL;
    errno = 0;
    CHECK(open(null, O_RDONLY) == -1 && errno == EFAULT);
    errno = 0;
    CHECK(open("/dev/infiniband/rdma_cm", O_RDWR) == -1 && errno == ENOENT);

    errno = 4711;
    int fd = open(LID, O_RDONLY);
    CHECK(fd >= 0 && errno == 4711);
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0);
    CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    struct stat st;
    CHECK(fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
    close(fd);
    const int lowest = open("/dev/null", O_RDONLY);
    close(lowest);
    fd = open(LID, O_RDONLY | O_CLOEXEC);
    CHECK(fd == lowest);
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    close(fd);
    fd = open(NODE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    CHECK(fd >= 0);
    close(fd);
}

static void test_stdio(void) {
    char text[32] = "";
    FILE* f = fopen(LID, "r");
    CHECK(f != NULL && fgets(text, sizeof text, f) != NULL && strncmp(text, "0x", 2) == 0);
    f = freopen(DEVICE "/node_type", "re", f);
    CHECK(f != NULL && fgets(text, sizeof text, f) != NULL && strcmp(text, "1: CA\n") == 0);
    fclose(f);
    f = fopen64(PCI "/vendor", "r");
    CHECK(f != NULL && fgets(text, sizeof text, f) != NULL && strcmp(text, "0xf1b0\n") == 0);
    fclose(f);
    errno = 0;
    CHECK(fopen(LID, "r+") == NULL && errno == EACCES);
    errno = 0;
    CHECK(fopen(CLASS "/x", "w") == NULL && errno == EACCES);
}

static void test_stat(void) {
    struct stat st;
    struct statx stx;
    CHECK(stat(DEVICE, &st) == 0 && S_ISDIR(st.st_mode));
    CHECK(lstat(DEVICE, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(fstatat(AT_FDCWD, DEVICE, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode));
    CHECK(statx(AT_FDCWD, DEVICE, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &stx) == 0 &&
          S_ISLNK(stx.stx_mode));
    CHECK(stat(NODE, &st) == 0 && S_ISCHR(st.st_mode));
    CHECK(lstat(NODE, &st) == 0 && S_ISCHR(st.st_mode));
    CHECK(statx(AT_FDCWD, NODE, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &stx) == 0 &&
          S_ISCHR(stx.stx_mode));
    CHECK(access(NODE, R_OK | W_OK) == 0);
    CHECK(eaccess(NODE, R_OK | W_OK) == 0);
    CHECK(euidaccess(LID, R_OK) == 0);
    CHECK(faccessat(AT_FDCWD, LID, R_OK, 0) == 0);
    errno = 0;
    CHECK(access("/dev/infiniband/rdma_cm", F_OK) == -1 && errno == ENOENT);
    errno = 0;
    CHECK(stat("/sys/class/misc/rdma_cm", &st) == -1 && errno == ENOENT);
    const char* volatile null = NULL;
    errno = 0;
    CHECK(stat(null, &st) == -1 && errno == EFAULT);
    CHECK(stat("/sys/class/net", &st) == 0); /* Not ours: the machine's own. */
    CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
}

static void test_names(void) {
    char text[PATH_MAX];
    CHECK(realpath(DEVICE "/device", text) == text && strcmp(text, PCI) == 0);
    char* made = realpath(DEVICE, NULL);
    CHECK(made != NULL && strcmp(made, PCI "/infiniband/mlx5_0") == 0);
    free(made);
    made = canonicalize_file_name(NODE);
    CHECK(made != NULL && strcmp(made, NODE) == 0);
    free(made);
    ssize_t n = readlink(DEVICE "/device/driver", text, sizeof text);
    CHECK(n > 0 && memcmp(text + n - 9, "mlx5_core", 9) == 0);
    CHECK(readlink(DEVICE "/device", text, 5) == 5 && memcmp(text, "../..", 5) == 0);
    errno = 0;
    CHECK(readlink(NODE, text, sizeof text) == -1 && errno == EINVAL);

    CHECK(chdir(DEVICE "/ports") == 0);
    CHECK(getcwd(text, sizeof text) == text && strcmp(text, PCI "/infiniband/mlx5_0/ports") == 0);
    char small[sizeof PCI "/infiniband/mlx5_0/ports"];
    CHECK(getcwd(small, sizeof small) == small);
    errno = 0;
    CHECK(getcwd(small, sizeof small - 1) == NULL && errno == ERANGE);
    made = get_current_dir_name();
    CHECK(made != NULL && strcmp(made, PCI "/infiniband/mlx5_0/ports") == 0);
    free(made);
    n = readlink("/proc/self/cwd", text, sizeof text);
    CHECK(n == (ssize_t)strlen(small) && memcmp(text, small, (size_t)n) == 0);
    CHECK(reads_lid(open("1/lid", O_RDONLY)));
    CHECK(chdir("/") == 0 && getcwd(text, sizeof text) != NULL && strcmp(text, "/") == 0);
    CHECK(reads_lid(open("sys/class/infiniband/mlx5_0/ports/1/lid", O_RDONLY)));
}

static int seen_lid, seen_outside;

static int on_nftw(const char* path, const struct stat* st, int type, struct FTW* place) {
    (void)st;
    (void)type;
    seen_lid += strcmp(path + place->base, "lid") == 0;
    seen_outside += strncmp(path, DEVICE, strlen(DEVICE)) != 0;
    return 0;
}

static int on_ftw(const char* path, const struct stat* st, int type) {
    (void)st;
    (void)type;
    seen_outside += strncmp(path, DEVICE, strlen(DEVICE)) != 0;
    seen_lid += strcmp(path, LID) == 0;
    return 0;
}

static void test_walks(void) {
    DIR* dir = opendir(CLASS);
    CHECK(dir != NULL);
    int entries = 0;
    for (struct dirent* e; dir != NULL && (e = readdir(dir)) != NULL;) {
        entries += strncmp(e->d_name, "mlx5_", 5) == 0;
    }
    CHECK(entries == 2);
    closedir(dir);
    struct dirent** list;
    const int count = scandir(CLASS, &list, NULL, alphasort);
    CHECK(count == 4 && strcmp(list[3]->d_name, "mlx5_1") == 0);
    for (int i = 0; i < count; ++i) {
        free(list[i]);
    }
    free(list);

    glob_t found;
    CHECK(glob(CLASS "/mlx5_*/ports/*/lid", 0, NULL, &found) == 0 && found.gl_pathc == 2);
    CHECK(strcmp(found.gl_pathv[0], LID) == 0);
    CHECK(glob("/dev/infiniband/uverbs*", GLOB_APPEND, NULL, &found) == 0 && found.gl_pathc == 4);
    globfree(&found);
    CHECK(glob("/et[c]/passwd", 0, NULL, &found) == 0 && found.gl_pathc == 1);
    globfree(&found);

    CHECK(nftw(DEVICE "/ports", on_nftw, 8, 0) == 0 && seen_lid == 1 && seen_outside == 0);
    CHECK(ftw(DEVICE "/ports", on_ftw, 8) == 0 && seen_lid == 2 && seen_outside == 0);

    char start[] = DEVICE "/ports/1";
    char* const starts[] = {start, NULL};
    FTS* fts = fts_open(starts, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    CHECK(fts != NULL);
    int lids = 0;
    for (FTSENT* e; fts != NULL && (e = fts_read(fts)) != NULL;) {
        lids += strcmp(e->fts_name, "lid") == 0;
    }
    CHECK(lids == 1);
    fts_close(fts);
}

static void test_no_descriptors_left(void) {
    struct rlimit old;
    getrlimit(RLIMIT_NOFILE, &old);
    const int probe = open("/dev/null", O_RDONLY);
    close(probe);
    /* Room for the file itself and nothing more: the content on disk must do. */
    const struct rlimit tight = {(rlim_t)probe + 1, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &tight);
    CHECK(reads_lid(open(LID, O_RDONLY)));
    const struct rlimit none = {(rlim_t)probe, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    errno = 0;
    CHECK(open(LID, O_RDONLY) == -1 && errno == EMFILE);
    setrlimit(RLIMIT_NOFILE, &old);
}

static void test_locked_memory(void) {
    /* Behind the library's back, as a login would: the kernel's limit is small. */
    struct rlimit64 small = {65536, 65536};
    CHECK(syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &small, NULL) == 0);
    struct rlimit limit = {1, 1};
    struct rlimit64 limit64 = {1, 1};
    CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY &&
          limit.rlim_max == RLIM_INFINITY);
    CHECK(getrlimit64(RLIMIT_MEMLOCK, &limit64) == 0 && limit64.rlim_cur == RLIM64_INFINITY);
    CHECK(prlimit(0, RLIMIT_MEMLOCK, NULL, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY);
    CHECK(prlimit64(getpid(), RLIMIT_MEMLOCK, NULL, &limit64) == 0 &&
          limit64.rlim_cur == RLIM64_INFINITY);
    /* What a program sets it finds again. */
    limit.rlim_cur = 1U << 20;
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == 1U << 20 &&
          limit.rlim_max == RLIM_INFINITY);
    const struct rlimit wrong = {2, 1};
    errno = 0;
    CHECK(setrlimit(RLIMIT_MEMLOCK, &wrong) == -1 && errno == EINVAL);
    const struct rlimit64 none = {RLIM64_INFINITY, RLIM64_INFINITY};
    CHECK(prlimit64(0, RLIMIT_MEMLOCK, &none, &limit64) == 0 && limit64.rlim_cur == 1U << 20);
    CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY);
    /* Other limits are the kernel's. */
    struct rlimit64 files = {0, 0};
    CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == files.rlim_cur);
}

static void* read_often(void* unused) {
    (void)unused;
    for (int i = 0; i < 200; ++i) {
        CHECK(reads_lid(open(LID, O_RDONLY)));
    }
    return NULL;
}

static void* read_forever(void* unused) {
    (void)unused;
    for (;;) {
        const int fd = open(LID, O_RDONLY);
        close(fd);
        pthread_testcancel();
    }
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) {
        pthread_create(&threads[i], NULL, read_often, NULL);
    }
    for (int i = 0; i < 4; ++i) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 20; ++i) {
        pthread_create(&threads[0], NULL, read_forever, NULL);
        usleep(500);
        pthread_cancel(threads[0]);
        void* result = NULL;
        pthread_join(threads[0], &result);
        CHECK(result == PTHREAD_CANCELED);
    }
}

static void on_alarm(int number) {
    (void)number;
    CHECK(reads_lid(open(LID, O_RDONLY)));
}

static void test_signals(void) {
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval every = {{0, 700}, {0, 700}};
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 500; ++i) {
        char text[64];
        int fd;
        do {
            fd = open(DEVICE "/node_guid", O_RDONLY);
        } while (fd < 0 && errno == EINTR);
        CHECK(read(fd, text, sizeof text) == 20);
        close(fd);
    }
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

/* What a read from the start of a file gives: ours, whoever has the descriptor's number now. */
static void test_read_again(void) {
    char first[32] = "", again[32] = "";
    const int fd = open(LID, O_RDONLY);
    CHECK(read(fd, first, sizeof first) > 3);
    CHECK(read(fd, again, sizeof again) == 0);
    errno = 4711;
    CHECK(pread(fd, again, sizeof again, 0) > 3 && strcmp(first, again) == 0 && errno == 4711);
    const ssize_t rest = pread64(fd, again, sizeof again, 2);
    CHECK(rest > 1 && memcmp(first + 2, again, (size_t)rest) == 0);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, again, 2) == 2 && memcmp(again, "0x", 2) == 0);
    CHECK(lseek(fd, 0, SEEK_CUR) == 2);
    errno = 0;
    CHECK(write(fd, "x", 1) == -1 && errno == EBADF);

    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CHECK(lseek(copy, 0, SEEK_SET) == 0 && reads_lid(copy));
    int ends[2];
    CHECK(pipe(ends) == 0 && dup2(ends[0], fd) == fd && write(ends[1], "pipe", 4) == 4);
    CHECK(read(fd, again, sizeof again) == 4 && memcmp(again, "pipe", 4) == 0);
    close(ends[0]);
    close(ends[1]);
    close(fd);

    FILE* f = fopen(LID, "r");
    CHECK(f != NULL && fgets(again, sizeof again, f) != NULL && strcmp(first, again) == 0);
    rewind(f);
    CHECK(fgets(again, sizeof again, f) != NULL && strcmp(first, again) == 0);
    CHECK(fseek(f, 0, SEEK_SET) == 0 && fgets(again, sizeof again, f) != NULL);
    CHECK(fseeko(f, 2, SEEK_SET) == 0 && fgets(again, sizeof again, f) != NULL &&
          strcmp(first + 2, again) == 0);
    fclose(f);
}

static void test_no_network_device(void) {
    char text[32];
    int fd = open(DEVICE "/ports/1/gid_attrs/types/0", O_RDONLY);
    CHECK(read(fd, text, sizeof text) == 11 && memcmp(text, "IB/RoCE v1\n", 11) == 0);
    close(fd);
    fd = open(DEVICE "/ports/1/gid_attrs/ndevs/0", O_RDONLY);
    errno = 0;
    CHECK(fd >= 0 && read(fd, text, sizeof text) == -1 && errno == EINVAL);
    close(fd);
    FILE* f = fopen(DEVICE "/ports/1/gid_attrs/ndevs/7", "r");
    errno = 0;
    CHECK(f != NULL && fgets(text, sizeof text, f) == NULL && errno == EINVAL);
    fclose(f);
}

static void test_fork(void) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(reads_lid(open(LID, O_RDONLY)) ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    test_open();
    test_stdio();
    test_stat();
    test_names();
    test_walks();
    test_no_descriptors_left();
    test_locked_memory();
    test_threads();
    test_signals();
    test_read_again();
    test_no_network_device();
    test_fork();
    if (failures == 0) {
        puts("all calls right");
    }
    return failures == 0 ? 0 : 1;
}
