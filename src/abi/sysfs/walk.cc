// SPDX-License-Identifier: BSD-2-Clause
//
// Functions of the C library that walk directories. Inside the C library they do not call the
// functions that we have replaced, so they get redirected starting points, or pointers to our
// functions.
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/sysfs/next.h"
#include "abi/sysfs/redirect.h"

namespace softib::sysfs {

namespace {

using GlobError = int(const char*, int);
using NftwCallback = int(const char*, const struct stat*, int, struct FTW*);
using FtwCallback = int(const char*, const struct stat*, int);
using FtsCompare = int(const FTSENT**, const FTSENT**);

constinit Next<int(const char*, int, GlobError*, glob_t*)> next_glob{"glob"};
constinit Next<int(const char*, NftwCallback*, int, int)> next_nftw{"nftw"};
constinit Next<int(const char*, FtwCallback*, int)> next_ftw{"ftw"};
constinit Next<FTS*(char* const*, int, FtsCompare*)> next_fts_open{"fts_open"};

/// The callback of the walk that this thread is in.
thread_local NftwCallback* nftw_callback = nullptr;
thread_local FtwCallback* ftw_callback = nullptr;

int nftw_visible(const char* path, const struct stat* st, int type, struct FTW* place) {
    struct FTW shown = *place;
    const char* name = path;
    if (in_tree(path)) {
        const std::size_t root_size = settings().root.size();
        name += root_size;
        shown.base -= static_cast<int>(root_size);
    }
    return nftw_callback(name, st, type, &shown);
}

int ftw_visible(const char* path, const struct stat* st, int type) {
    return ftw_callback(in_tree(path) ? path + settings().root.size() : path, st, type);
}

// glob can be given functions (GLOB_ALTDIRFUNC). These call the replaced ones.
void* glob_opendir(const char* path) {
    return opendir(path);
}
dirent* glob_readdir(void* stream) {
    return readdir(static_cast<DIR*>(stream));
}
void glob_closedir(void* stream) {
    closedir(static_cast<DIR*>(stream));
}
int glob_stat(const char* path, struct stat* st) {
    return stat(path, st);
}
int glob_lstat(const char* path, struct stat* st) {
    return lstat(path, st);
}

int glob_common(const char* pattern, int flags, GlobError* on_error, glob_t* result) {
    if (settings().enabled && pattern != nullptr && result != nullptr &&
        (flags & GLOB_ALTDIRFUNC) == 0) {
        flags |= GLOB_ALTDIRFUNC;
        result->gl_opendir = glob_opendir;
        result->gl_readdir = glob_readdir;
        result->gl_closedir = glob_closedir;
        result->gl_stat = glob_stat;
        result->gl_lstat = glob_lstat;
    }
    return next_glob(pattern, flags, on_error, result);
}

int nftw_common(const char* asked, NftwCallback* callback, int descriptors, int flags) {
    PathBuffer buffer;
    const char* path = redirect(asked, buffer);
    if (path == asked) {
        return next_nftw(asked, callback, descriptors, flags);
    }
    NftwCallback* const outer = nftw_callback;
    nftw_callback = callback;
    const int rc = next_nftw(path, nftw_visible, descriptors, flags);
    nftw_callback = outer;
    return rc;
}

int ftw_common(const char* asked, FtwCallback* callback, int descriptors) {
    PathBuffer buffer;
    const char* path = redirect(asked, buffer);
    if (path == asked) {
        return next_ftw(asked, callback, descriptors);
    }
    FtwCallback* const outer = ftw_callback;
    ftw_callback = callback;
    const int rc = next_ftw(path, ftw_visible, descriptors);
    ftw_callback = outer;
    return rc;
}

/// Opens a walk of redirected paths. Its entries keep the real paths: the stream owns and edits
/// them, so the root cannot be removed.
FTS* fts_open_common(char* const* asked, int options, FtsCompare* compare) {
    if (!settings().enabled || asked == nullptr) {
        return next_fts_open(asked, options, compare);
    }
    std::size_t count = 0;
    while (asked[count] != nullptr) {
        ++count;
    }
    char** paths = static_cast<char**>(std::calloc(count + 1, sizeof(char*)));
    bool complete = paths != nullptr;
    for (std::size_t i = 0; complete && i < count; ++i) {
        PathBuffer buffer;
        paths[i] = strdup(redirect(asked[i], buffer));
        complete = paths[i] != nullptr;
    }
    FTS* stream = complete ? next_fts_open(paths, options, compare) : nullptr;
    const int saved_errno = errno;
    for (std::size_t i = 0; paths != nullptr && i < count; ++i) {
        std::free(paths[i]);
    }
    std::free(paths);
    errno = saved_errno;
    return stream;
}

}  // namespace

extern "C" {

int fs_glob(const char* pattern, int flags, GlobError* on_error, glob_t* result)
    SOFTIB_FS_EXPORT("glob");
int fs_glob64(const char* pattern, int flags, GlobError* on_error, glob_t* result)
    SOFTIB_FS_EXPORT("glob64");
int fs_nftw(const char* path, NftwCallback* callback, int descriptors, int flags)
    SOFTIB_FS_EXPORT("nftw");
int fs_nftw64(const char* path, NftwCallback* callback, int descriptors, int flags)
    SOFTIB_FS_EXPORT("nftw64");
int fs_ftw(const char* path, FtwCallback* callback, int descriptors) SOFTIB_FS_EXPORT("ftw");
int fs_ftw64(const char* path, FtwCallback* callback, int descriptors) SOFTIB_FS_EXPORT("ftw64");
FTS* fs_fts_open(char* const* paths, int options, FtsCompare* compare) SOFTIB_FS_EXPORT("fts_open");
FTS* fs_fts64_open(char* const* paths, int options, FtsCompare* compare)
    SOFTIB_FS_EXPORT("fts64_open");

int fs_glob(const char* pattern, int flags, GlobError* on_error, glob_t* result) {
    return glob_common(pattern, flags, on_error, result);
}

int fs_glob64(const char* pattern, int flags, GlobError* on_error, glob_t* result) {
    return glob_common(pattern, flags, on_error, result);
}

int fs_nftw(const char* path, NftwCallback* callback, int descriptors, int flags) {
    return nftw_common(path, callback, descriptors, flags);
}

int fs_nftw64(const char* path, NftwCallback* callback, int descriptors, int flags) {
    return nftw_common(path, callback, descriptors, flags);
}

int fs_ftw(const char* path, FtwCallback* callback, int descriptors) {
    return ftw_common(path, callback, descriptors);
}

int fs_ftw64(const char* path, FtwCallback* callback, int descriptors) {
    return ftw_common(path, callback, descriptors);
}

FTS* fs_fts_open(char* const* paths, int options, FtsCompare* compare) {
    return fts_open_common(paths, options, compare);
}

FTS* fs_fts64_open(char* const* paths, int options, FtsCompare* compare) {
    return fts_open_common(paths, options, compare);
}

}  // extern "C"

}  // namespace softib::sysfs
