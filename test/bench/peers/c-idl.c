/* The C IDL as a peer of the benchmark `ovsdb-peers`: see README.md for what is asked of a peer. */
#include <config.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "northbound-idl.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovsdb-data.h"
#include "ovsdb-error.h"
#include "ovsdb-idl-provider.h"
#include "ovsdb-idl.h"
#include "util.h"

static double
milliseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

#define WALL milliseconds(CLOCK_MONOTONIC)
#define PROCESSOR milliseconds(CLOCK_PROCESS_CPUTIME_ID)

/* kB of a field of /proc/self/status. */
static long
memory(const char *field)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (status && fgets(line, sizeof line, status)) {
        if (!strncmp(line, field, strlen(field))) {
            kb = atol(line + strlen(field) + 1);
        }
    }
    fclose(status);
    return kb;
}

/* Everything is followed; `tracked` also says which rows changed. */
static struct ovsdb_idl *
start(const char *remote, bool tracked)
{
    struct ovsdb_idl *idl = ovsdb_idl_create_unconnected(&nbrec_idl_class, true);
    if (tracked) {
        ovsdb_idl_track_add_all(idl);
    }
    ovsdb_idl_set_leader_only(idl, false);
    ovsdb_idl_set_remote(idl, remote, true);
    while (!ovsdb_idl_has_ever_connected(idl)) {
        ovsdb_idl_run(idl);
        if (ovsdb_idl_has_ever_connected(idl)) {
            break;
        }
        ovsdb_idl_wait(idl);
        poll_block();
    }
    return idl;
}

static void
load(const char *remote)
{
    long before = memory("VmRSS:");
    double wall = WALL, processor = PROCESSOR;
    struct ovsdb_idl *idl = start(remote, false);
    wall = WALL - wall;
    processor = PROCESSOR - processor;
    size_t rows = 0;
    for (size_t i = 0; i < nbrec_idl_class.n_tables; i++) {
        const struct ovsdb_idl_row *row = ovsdb_idl_first_row(idl, &nbrec_idl_class.tables[i]);
        for (; row; row = ovsdb_idl_next_row(row)) {
            rows++;
        }
    }
    printf("{\"rows\":%"PRIuSIZE",\"wall\":%f,\"processor\":%f,\"before\":%ld,\"after\":%ld,\"peak\":%ld}\n",
           rows, wall, processor, before, memory("VmRSS:"), memory("VmHWM:"));
}

static const struct ovsdb_idl_table_class *
find_table(const char *name)
{
    for (size_t i = 0; i < nbrec_idl_class.n_tables; i++) {
        if (!strcmp(nbrec_idl_class.tables[i].name, name)) {
            return &nbrec_idl_class.tables[i];
        }
    }
    ovs_fatal(0, "no table %s", name);
}

static const struct ovsdb_idl_column *
find_column(const struct ovsdb_idl_table_class *class, const char *name)
{
    for (size_t i = 0; i < class->n_columns; i++) {
        if (!strcmp(class->columns[i].name, name)) {
            return &class->columns[i];
        }
    }
    ovs_fatal(0, "no column %s", name);
}

/* A value of a row to be: what a program has in its hands when it begins to build a transaction. */
struct value {
    const struct ovsdb_idl_column *column;
    struct ovsdb_datum datum;
};

struct row {
    const struct ovsdb_idl_table_class *class;
    struct uuid uuid;
    bool has_uuid;
    struct value *values;
    size_t n_values;
};

static void
read_row(struct row *row, const struct json *operation)
{
    const struct shash *members = json_object(operation);
    const struct json *uuid = shash_find_data(members, "uuid");
    const struct shash *columns = json_object(shash_find_data(members, "row"));
    row->class = find_table(json_string(shash_find_data(members, "table")));
    row->has_uuid = uuid && uuid_from_string(&row->uuid, json_string(uuid));
    row->values = xmalloc(shash_count(columns) * sizeof *row->values);
    row->n_values = 0;
    struct shash_node *node;
    SHASH_FOR_EACH (node, columns) {
        struct value *value = &row->values[row->n_values++];
        value->column = find_column(row->class, node->name);
        struct ovsdb_error *error = ovsdb_datum_from_json(&value->datum, &value->column->type, node->data, NULL);
        if (error) {
            ovs_fatal(0, "%s", ovsdb_error_to_string(error));
        }
    }
}

static void
commit(const char *remote, const char *file)
{
    struct ovsdb_idl *idl = start(remote, false);
    struct json *transactions = json_from_file(file);
    if (transactions->type != JSON_ARRAY) {
        ovs_fatal(0, "%s is no array of transactions", file);
    }
    size_t n = json_array(transactions)->n;
    double *walls = xmalloc(n * sizeof *walls), *processors = xmalloc(n * sizeof *processors);
    for (size_t i = 0; i < n; i++) {
        const struct json_array *operations = json_array(json_array(transactions)->elems[i]);
        struct row *rows = xmalloc(operations->n * sizeof *rows);
        for (size_t j = 0; j < operations->n; j++) {
            read_row(&rows[j], operations->elems[j]);
        }
        double wall = WALL, processor = PROCESSOR;
        struct ovsdb_idl_txn *txn = ovsdb_idl_txn_create(idl);
        for (struct row *row = rows; row < rows + operations->n; row++) {
            const struct ovsdb_idl_row *new = row->has_uuid
                ? ovsdb_idl_txn_insert_persist_uuid(txn, row->class, &row->uuid)
                : ovsdb_idl_txn_insert(txn, row->class, NULL);
            for (struct value *value = row->values; value < row->values + row->n_values; value++) {
                ovsdb_idl_txn_write(new, value->column, &value->datum);
            }
        }
        enum ovsdb_idl_txn_status status = ovsdb_idl_txn_commit_block(txn);
        if (status != TXN_SUCCESS) {
            ovs_fatal(0, "commit: %s (%s)", ovsdb_idl_txn_status_to_string(status), ovsdb_idl_txn_get_error(txn));
        }
        ovsdb_idl_txn_destroy(txn);
        walls[i] = WALL - wall;
        processors[i] = PROCESSOR - processor;
        for (size_t j = 0; j < operations->n; j++) {
            free(rows[j].values);
        }
        free(rows);
    }
    for (int what = 0; what < 2; what++) {
        printf(what ? "],\"processor\":[" : "{\"wall\":[");
        for (size_t i = 0; i < n; i++) {
            printf("%s%f", i ? "," : "", what ? processors[i] : walls[i]);
        }
    }
    printf("]}\n");
}

static void
notify(const char *remote, int count)
{
    struct ovsdb_idl *idl = start(remote, true);
    ovsdb_idl_track_clear(idl);
    double *heard = xmalloc(count * sizeof *heard);
    int n = 0;
    printf("ready\n");
    fflush(stdout);
    while (n < count) {
        ovsdb_idl_run(idl);
        const struct nbrec_logical_switch *row;
        NBREC_LOGICAL_SWITCH_FOR_EACH_TRACKED (row, idl) {
            heard[n++] = WALL;
        }
        ovsdb_idl_track_clear(idl);
        ovsdb_idl_wait(idl);
        if (n < count) {
            poll_block();
        }
    }
    printf("{\"heard\":[");
    for (int i = 0; i < count; i++) {
        printf("%s%f", i ? "," : "", heard[i]);
    }
    printf("]}\n");
}

int
main(int argc, char *argv[])
{
    set_program_name(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_ERR);
    if (argc == 3 && !strcmp(argv[1], "load")) {
        load(argv[2]);
    } else if (argc == 4 && !strcmp(argv[1], "commit")) {
        commit(argv[2], argv[3]);
    } else if (argc == 4 && !strcmp(argv[1], "notify")) {
        notify(argv[2], atoi(argv[3]));
    } else {
        fprintf(stderr, "usage: c-idl load REMOTE | commit REMOTE FILE | notify REMOTE COUNT\n");
        return 2;
    }
    return 0;
}
