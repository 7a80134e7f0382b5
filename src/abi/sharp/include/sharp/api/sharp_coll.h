/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Collective operations that switches compute: the interface of libsharp_coll, version 3.7, as
 * softib's library implements it. Names, numbers and sizes are those that programs were compiled
 * with; the words are softib's. docs/guide/sharp.md shows how to use it.
 *
 * Functions return 0 or one of enum sharp_error_no. A job is all processes that called
 * sharp_coll_init together, a communicator (group) some of them. All members of a communicator call
 * its operations in the same order, with the same sizes, types and operations.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of elements. A type is supported if sharp_coll_caps.support_mask.dtypes has 1 << type. */
enum sharp_datatype {
    SHARP_DTYPE_UNSIGNED = 0,       /* 32 bits */
    SHARP_DTYPE_INT = 1,            /* 32 bits */
    SHARP_DTYPE_UNSIGNED_LONG = 2,  /* 64 bits */
    SHARP_DTYPE_LONG = 3,           /* 64 bits */
    SHARP_DTYPE_FLOAT = 4,          /* 32 bits */
    SHARP_DTYPE_DOUBLE = 5,         /* 64 bits */
    SHARP_DTYPE_UNSIGNED_SHORT = 6, /* 16 bits */
    SHARP_DTYPE_SHORT = 7,          /* 16 bits */
    SHARP_DTYPE_FLOAT_SHORT = 8,    /* IEEE binary16 */
    SHARP_DTYPE_BFLOAT16 = 9,
    SHARP_DTYPE_UINT8 = 10,
    SHARP_DTYPE_INT8 = 11,
    SHARP_DTYPE_NULL = 12
};

/*
 * Operations. An element of MAXLOC and MINLOC is a value of dtype followed by a tag of tag_dtype;
 * among equal values the one with the lowest tag wins.
 */
enum sharp_reduce_op {
    SHARP_OP_MAX = 0,
    SHARP_OP_MIN = 1,
    SHARP_OP_SUM = 2,
    SHARP_OP_PROD = 3,
    SHARP_OP_LAND = 4,
    SHARP_OP_BAND = 5,
    SHARP_OP_LOR = 6,
    SHARP_OP_BOR = 7,
    SHARP_OP_LXOR = 8,
    SHARP_OP_BXOR = 9,
    SHARP_OP_MAXLOC = 10,
    SHARP_OP_MINLOC = 11,
    SHARP_OP_NULL = 12
};

enum sharp_error_no {
    SHARP_COLL_SUCCESS = 0,
    SHARP_COLL_ERROR = -1,     /* The job has ended: a member is gone, or coll_timeout is over. */
    SHARP_COLL_ENOT_SUPP = -2, /* No such operation, type or memory. */
    SHARP_COLL_ENOMEM = -3,
    SHARP_COLL_EGROUP_ALLOC = -4, /* No communicator: the job is not active, or `size` is wrong. */
    SHARP_COLL_ECONN_TREE = -5,   /* A cable or switch of the job's tree is gone. */
    SHARP_COLL_EGROUP_JOIN = -6,
    SHARP_COLL_EQUOTA = -7,     /* The job asks for more than a job may have. */
    SHARP_COLL_ESESS_INIT = -8, /* No aggregation manager answers. */
    SHARP_COLL_EDEV = -9,       /* No such device, or its port is not active. */
    SHARP_COLL_EINVAL = -10,
    SHARP_COLL_EJOB_CREATE = -11,
    SHARP_COLL_ETREE_INFO = -12, /* The switches do not have the tree. */
    SHARP_COLL_ENOTREE = -13,    /* No switch that aggregates is reached by all members. */
    SHARP_COLL_EGROUP_ID = -14,
    SHARP_COLL_EOOB = -15, /* One of the program's out-of-band functions failed. */
    SHARP_COLL_EGROUP_MCAST = -16,
    SHARP_COLL_EGROUP_TRIM = -17,
    SHARP_COLL_ELOCK_FAILED = -18, /* Another group streams through a port; try again. */
    SHARP_COLL_ELOCK_DENIED = -19,
    SHARP_COLL_ENO_RESOURCE = -20 /* A switch or the manager has no room for one more. */
};

/* Bits of sharp_coll_caps.support_mask.feature_mask. */
enum sharp_job_features {
    SHARP_FEATURE_LLT = 1 << 0,
    SHARP_FEATURE_REPRODUCIBLE = 1 << 1,
    SHARP_FEATURE_SAT = 1 << 2,
    SHARP_FEATURE_SAT_EXCLUSIVE_LOCK = 1 << 3
};

enum sharp_aggregation_mode {
    SHARP_AGGREGATION_NONE = 0,     /* The library chooses, by size. */
    SHARP_AGGREGATION_DATAGRAM = 1, /* LLT */
    SHARP_AGGREGATION_STREAMING = 2 /* SAT; fails if the ports cannot be locked. */
};

struct sharp_coll_context;
struct sharp_coll_comm;

/* Bits of sharp_coll_config.flags. */
enum {
    SHARP_COLL_HIDE_ERRORS = 1 << 0, /* Nothing is printed when a job cannot be made. */
    SHARP_COLL_DISABLE_LAZY_GROUP_RESOURCE_ALLOC = 1 << 1
};

struct sharp_coll_config {
    const char* ib_dev_list;     /* "mlx5_0:1,mlx5_1:1"; NULL: the first with an active port. */
    int user_progress_num_polls; /* progress_func is called once in this many polls. */
    int coll_timeout;            /* Timeout of blocking calls, in ms; -1: none. */
    uint32_t flags;
    int reserved[3];
};

extern const struct sharp_coll_config sharp_coll_default_config;

/*
 * Functions of the program that the library calls while it makes jobs and communicators. They
 * return 0 if they succeed.
 */
struct sharp_coll_out_of_band_colls {
    int (*bcast)(void* context, void* buffer, int len, int root);
    int (*barrier)(void* context);
    int (*gather)(void* context, int root, void* sbuf, void* rbuf, int len);
};

struct sharp_coll_comm_init_spec {
    int rank; /* Rank in the communicator. */
    int size;
    void* oob_ctx;
    const uint32_t* group_world_ranks; /* May be NULL. */
    int reserved[2];
};

struct sharp_coll_init_spec {
    uint64_t job_id; /* The same at all members. */
    int world_rank;
    int world_size;
    int (*progress_func)(void); /* May be NULL. */
    int group_channel_idx;
    struct sharp_coll_config config;
    struct sharp_coll_out_of_band_colls oob_colls;
    int world_local_rank;
    int enable_thread_support;
    void* oob_ctx;
    int reserved[4];
};

struct sharp_coll_caps {
    int sharp_pkt_version;
    uint64_t reserved[2];
    struct {
        uint64_t dtypes;
        uint64_t tag_dtypes; /* Types that the tags of MAXLOC and MINLOC may have. */
        uint64_t reduce_ops;
        uint64_t feature_mask;
        uint64_t reserved[4];
    } support_mask;
    struct {
        int max_osts;
        int user_data_per_ost;
        int max_groups;
        int max_group_channels;
        int osts_per_group;
    } resources;
};

enum sharp_data_buffer_type { SHARP_DATA_BUFFER = 0, SHARP_DATA_IOV = 1 };

#define SHARP_COLL_DATA_MAX_IOV 15

enum sharp_data_memory_type {
    SHARP_MEM_TYPE_HOST = 0,
    SHARP_MEM_TYPE_CUDA = 1,
    SHARP_MEM_TYPE_LAST = 2
};

struct sharp_data_iov {
    void* ptr;
    size_t length;
    void* mem_handle;
};

/* Bits of sharp_coll_reg_params.field_mask. */
enum { SHARP_COLL_REG_FIELD_DMABUF_FD = 1 << 0, SHARP_COLL_REG_FIELD_DMABUF_OFFSET = 1 << 1 };

struct sharp_coll_reg_params {
    uint64_t field_mask;
    int dmabuf_fd;
    size_t dmabuf_offset;
};

struct sharp_coll_data_buffer {
    void* ptr;
    size_t length;    /* In bytes. */
    void* mem_handle; /* May be NULL. */
};

struct sharp_coll_data_iovs {
    unsigned count;
    struct sharp_data_iov* vector;
};

struct sharp_coll_data_desc {
    enum sharp_data_buffer_type type;
    enum sharp_data_memory_type mem_type;
    int reserved[2];
    union {
        struct sharp_coll_data_buffer buffer;
        struct sharp_coll_data_iovs iov;
    };
};

struct sharp_coll_reduce_spec {
    int root; /* The rank that gets the result; reduce only. */
    struct sharp_coll_data_desc sbuf_desc;
    struct sharp_coll_data_desc rbuf_desc;
    enum sharp_datatype dtype;
    size_t length; /* Number of elements; a reduce-scatter uses its buffers' lengths instead. */
    enum sharp_reduce_op op;
    enum sharp_datatype tag_dtype;
    enum sharp_aggregation_mode aggr_mode;
    int stream_lock_batch_size;
    size_t offset; /* Where the send buffer of a reduce-scatter begins in the vector, in bytes. */
    int reserved[2];
};

struct sharp_coll_bcast_spec {
    int root;
    struct sharp_coll_data_desc buf_desc;
    size_t size; /* In bytes. */
    int reserved[4];
};

struct sharp_coll_bcast_spec_v2 {
    int root;
    struct sharp_coll_data_desc sbuf_desc;
    struct sharp_coll_data_desc rbuf_desc;
    size_t size;
    int reserved[4];
};

struct sharp_coll_gather_spec {
    struct sharp_coll_data_desc sbuf_desc;
    struct sharp_coll_data_desc rbuf_desc;
    enum sharp_datatype dtype;
    size_t size;
    size_t offset; /* Where the receive buffer begins in the whole vector, in bytes. */
    int reserved[4];
};

/* Makes a job; all members call it. */
int sharp_coll_init(struct sharp_coll_init_spec* sharp_coll_spec,
                    struct sharp_coll_context** sharp_coll_context);
int sharp_coll_finalize(struct sharp_coll_context* context);
int sharp_coll_caps_query(struct sharp_coll_context* context, struct sharp_coll_caps* sharp_caps);
/* Advances all operations of the job. Returns the error of the first communicator that failed. */
int sharp_coll_progress(struct sharp_coll_context* context);

/* Makes a communicator; all its members call it. */
int sharp_coll_comm_init(struct sharp_coll_context* context, struct sharp_coll_comm_init_spec* spec,
                         struct sharp_coll_comm** sharp_coll_comm);
int sharp_coll_comm_destroy(struct sharp_coll_comm* comm);

/* The operations. Those that end in _nb return at once, with a handle of the operation. */
int sharp_coll_do_barrier(struct sharp_coll_comm* comm);
int sharp_coll_do_barrier_nb(struct sharp_coll_comm* comm, void** handle);
int sharp_coll_do_allreduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_allreduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec,
                               void** handle);
int sharp_coll_do_reduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_reduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec,
                            void** handle);
int sharp_coll_do_reduce_scatter(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_reduce_scatter_nb(struct sharp_coll_comm* comm,
                                    struct sharp_coll_reduce_spec* spec, void** handle);
int sharp_coll_do_allgather(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec);
int sharp_coll_do_allgather_nb(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec,
                               void** handle);
int sharp_coll_do_bcast(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec);
int sharp_coll_do_bcast_nb(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec,
                           void** handle);

/*
 * Returns non-zero if the operation is complete. Returns 0 if it is not, or if it has failed: then
 * sharp_coll_req_wait returns the error, and so does every later operation.
 */
int sharp_coll_req_test(void* handle);
/* Waits for the operation and frees its handle. */
int sharp_coll_req_wait(void* handle);
/* Frees a handle. An operation that is not complete goes on. */
int sharp_coll_req_free(void* handle);

int sharp_coll_reg_mr(struct sharp_coll_context* context, void* buf, size_t size, void** mr);
int sharp_coll_reg_mr_v2(struct sharp_coll_context* context, void* buf, size_t size,
                         const struct sharp_coll_reg_params* params, void** mr);
int sharp_coll_dereg_mr(struct sharp_coll_context* context, void* mr);

enum config_print_flags {
    SHARP_COLL_CONFIG_PRINT_CONFIG = 1,
    SHARP_COLL_CONFIG_PRINT_HEADER = 2,
    SHARP_COLL_CONFIG_PRINT_DOC = 4,
    SHARP_COLL_CONFIG_PRINT_HIDDEN = 8
};

int sharp_coll_print_config(FILE* stream, enum config_print_flags print_flags,
                            const char* exec_name);
const char* sharp_coll_strerror(int error);
int sharp_coll_dump_stats(struct sharp_coll_context* context);

#ifdef __cplusplus
}
#endif
