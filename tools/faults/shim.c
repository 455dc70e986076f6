/* Preloaded into a process: calls on files below a folder fail from the n-th on, as on a disk that is full, broken or read-only.
 * SHIM="errno:kinds:after:times:folder"; kinds are r (read), w (write), s (sync), o (open for writing, remove, rename). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int code = -1, after, times;
static char kinds[8];
static const char *folder;

static void load(void) {
    const char *set = getenv("SHIM");
    int used = 0;
    code = 0;
    if (set && sscanf(set, "%d:%7[a-z]:%d:%d:%n", &code, kinds, &after, &times, &used) == 4 && used)
        folder = set + used;
    else
        code = 0;
}

/* Whether a call of this kind on this path is to fail. Threads may miscount: it is a random number anyway. */
static int fails(char kind, const char *path) {
    if (code < 0)
        load();
    if (!code || !path || !strchr(kinds, kind) || strncmp(path, folder, strlen(folder)))
        return 0;
    if (after-- > 0 || times <= 0)
        return 0;
    times--;
    errno = code;
    return 1;
}

static int fails_on(char kind, int fd) {
    char link[64], path[PATH_MAX];
    int before = errno;
    ssize_t size;
    if (code < 0)
        load();
    if (!code)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    errno = before;
    if (size < 0)
        return 0;
    path[size] = 0;
    return fails(kind, path);
}

#define ORIGINAL(name) static __typeof__(name) *original; if (!original) original = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define ON_FD(kind, type, name, parameters, arguments) \
    type name parameters { ORIGINAL(name); return fails_on(kind, fd) ? -1 : original arguments; }
#define ON_PATH(name, parameters, arguments) \
    int name parameters { ORIGINAL(name); return fails('o', path) ? -1 : original arguments; }

ON_FD('w', ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
ON_FD('w', ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
ON_FD('w', ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o))
ON_FD('w', int, ftruncate, (int fd, off_t n), (fd, n))
ON_FD('w', int, ftruncate64, (int fd, off64_t n), (fd, n))
ON_FD('s', int, fsync, (int fd), (fd))
ON_FD('s', int, fdatasync, (int fd), (fd))
ON_FD('r', ssize_t, read, (int fd, void *b, size_t n), (fd, b, n))
ON_FD('r', ssize_t, pread, (int fd, void *b, size_t n, off_t o), (fd, b, n, o))
ON_FD('r', ssize_t, pread64, (int fd, void *b, size_t n, off64_t o), (fd, b, n, o))
ON_PATH(unlink, (const char *path), (path))
ON_PATH(rename, (const char *path, const char *to), (path, to))
ON_PATH(mkdir, (const char *path, mode_t m), (path, m))

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        ORIGINAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return (flags & (O_WRONLY | O_RDWR | O_CREAT)) && fails('o', path) ? -1 : original(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
