//@ begin
typedef struct {
    MPI_Comm comm;
    int rank, size;
} Communicator;

/* Long, so that times of sleeps and sizes that grow with the rank do not overflow. */
static long rank;
/* Total time of all bursts so far, s. */
static double computed;
/* Buffers for sending and receiving. They contain zeros. */
static char *data, *room;

//@ world
static Communicator comms[1];
#define world (&comms[0])

static void prepare_comms(void)
{
    comms[0] = (Communicator){MPI_COMM_WORLD, (int)rank, RANKS};
}

//@ groups
static Communicator comms[COMMS];
#define world (&comms[0])

static void prepare_comms(void)
{
    MPI_Group all, some;
    comms[0] = (Communicator){MPI_COMM_WORLD, (int)rank, RANKS};
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < GROUPS; i++) {
        Communicator *made = &comms[groups[i].number];
        made->comm = MPI_COMM_NULL;
        MPI_Group_incl(all, groups[i].size, groups[i].group, &some);
        MPI_Group_rank(some, &made->rank);
        if (made->rank != MPI_UNDEFINED) {
            MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &made->comm);
            made->size = groups[i].size;
        }
        MPI_Group_free(&some);
    }
    MPI_Group_free(&all);
}

//@ member
/* Return the communicator that this rank belongs to, if any. */
static const Communicator *member(int count, const int *numbers)
{
    for (int i = 0; i < count; i++)
        if (comms[numbers[i]].size > 0)
            return &comms[numbers[i]];
    return NULL;
}

//@ mod
static long mod(long number, long modulus)
{
    return (number % modulus + modulus) % modulus;
}

//@ partner
static int partner(long number)
{
    return number < 0 ? MPI_PROC_NULL : (int)number;
}

//@ type_of
static MPI_Datatype type_of(long size)
{
    return size == 16 ? MPI_C_DOUBLE_COMPLEX : size == 8 ? MPI_DOUBLE : size == 4 ? MPI_FLOAT
        : size == 2 ? MPI_SHORT : MPI_UNSIGNED_CHAR;
}

//@ tables
/* Numbers without a rule: a table that is read cyclically. */
static long table_at[TABLES];

static void reset_tables(void)
{
    memset(table_at, 0, sizeof table_at);
}

static inline long next(int table)
{
    long value = tables[table][rank].values[table_at[table]++];
    if (table_at[table] == tables[table][rank].length)
        table_at[table] = 0;
    return value;
}

//@ lists
/* Lists begin with their length. */
static const long *next_list(int table)
{
    const long *list = tables[table][rank].values + table_at[table];
    table_at[table] += 1 + list[0];
    if (table_at[table] == tables[table][rank].length)
        table_at[table] = 0;
    return list;
}

//@ vector
/* Return RANKS sizes of blocks, followed by their offsets. MPI may read them until the call is complete. */
static const int *vector(const long *sizes)
{
    static int vectors[VECTORS][2 * RANKS], turn;
    int *made = vectors[turn++ % VECTORS], at = 0;
    for (int i = 0; i < (int)sizes[0]; i++) {
        made[i] = (int)sizes[1 + i];
        made[RANKS + i] = at;
        at += made[i];
    }
    return made;
}

//@ rooms
/* Return the buffer of a nonblocking receive: one place after the other, even if a receive there is still open.
   Nobody reads them. */
static char *next_room(void)
{
    static char *rooms[ROOMS];
    static int turn;
    char **made = &rooms[turn++ % ROOMS];
    if (*made == NULL)
        *made = room_for(AT_ONCE);
    return *made;
}

//@ requests
/* Requests that are not yet known to be complete, the newest last. */
static MPI_Request *requests;
static long pending, capacity, begun;

static void reset_requests(void)
{
    pending = 0;
}

static MPI_Request *request(void)
{
    if (pending == capacity) {
        capacity = 2 * capacity + OLDEST + 16;
        requests = realloc(requests, (size_t)capacity * sizeof *requests);
        if (requests == NULL)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    begun++;
    return &requests[pending++];
}

//@ wait_all
static void wait_for_all(void)
{
    MPI_Waitall((int)pending, requests, MPI_STATUSES_IGNORE);
    pending = 0;
}

//@ wait_some
/* Wait for some requests: 0 is the newest, 1 the one before it. */
static void wait_for(const long *ages)
{
    for (long i = 1; i <= ages[0]; i++)
        MPI_Wait(&requests[pending - 1 - ages[i]], MPI_STATUS_IGNORE);
    if (pending > 4 * OLDEST) {
        long kept = 0;
        for (long i = 0; i < pending; i++)
            if (i >= pending - OLDEST || requests[i] != MPI_REQUEST_NULL)
                requests[kept++] = requests[i];
        pending = kept;
    }
}

//@ messages
/* Messages matched by probes: at most as many as there may be requests. */
static MPI_Message messages[OLDEST];

static MPI_Message *message(void)
{
    *request() = MPI_REQUEST_NULL;
    return &messages[begun % OLDEST];
}

//@ receive_matched
static void receive_matched(long age)
{
    MPI_Mrecv(room, MOST, MPI_BYTE, &messages[(begun - age) % OLDEST], MPI_STATUS_IGNORE);
}

//@ start_matched
static void start_matched(long age)
{
    MPI_Imrecv(next_room(), MOST_AT_ONCE, MPI_BYTE, &messages[(begun - age) % OLDEST],
               &requests[pending - 1 - age]);
}

//@ neighbours
/* Exchange messages with neighbours. Nonblocking calls wait for them as well. */
static void neighbours(const Communicator *on, const long *dests, const long *sizes, const long *sources,
                       MPI_Request *request)
{
    MPI_Request all[sources[0] + dests[0] + 1]; /* several edges may join the same two ranks */
    int count = 0;
    for (long i = 1; i <= sources[0]; i++)
        MPI_Irecv(next_room(), MOST_AT_ONCE, MPI_BYTE, sources[i], 32000, on->comm, &all[count++]);
    for (long i = 1; i <= dests[0]; i++)
        MPI_Isend(data, sizes[i], MPI_BYTE, dests[i], 32000, on->comm, &all[count++]);
    if (request != NULL)
        *request = MPI_REQUEST_NULL;
    MPI_Waitall(count, all, MPI_STATUSES_IGNORE);
}

//@ along_bits
/* Exchange messages with rank ^ 1, rank ^ 2 and so on; where the bit is set this rank sends, or receives. */
static void along_bits(const Communicator *on, const long *sizes, long tag, int sends)
{
    for (int bit = 1; bit < on->size; bit *= 2) {
        int other = on->rank ^ bit;
        for (long i = 1; i <= sizes[0] && other < on->size; i++)
            if (((on->rank & bit) != 0) == sends)
                MPI_Send(data, (int)sizes[i], MPI_BYTE, other, (int)tag, on->comm);
            else
                MPI_Recv(room, MOST, MPI_BYTE, other, (int)tag, on->comm, MPI_STATUS_IGNORE);
    }
}

//@ nothing
/* User-defined operations of the application: they do nothing. */
static MPI_Op NOTHING, NOTHING_IN_ORDER;

static void nothing(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
}

static void prepare_operations(void)
{
    MPI_Op_create(nothing, 1, &NOTHING);
    MPI_Op_create(nothing, 0, &NOTHING_IN_ORDER);
}

//@ rest
static void rest(long nanoseconds)
{
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    nanosleep(&time, NULL);
}

//@ buffered
static void prepare_buffer(void)
{
    MPI_Buffer_attach(room_for(BUFFERED), BUFFERED);
}

//@ memory
#include <sys/resource.h>

/* Touch as much memory as the application used; later copies read from it. */
static void take_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double missing = peak[rank] - 1024.0 * (double)usage.ru_maxrss;
    if (missing > 1 << 25)
        take_places((size_t)missing);
}

//@ compute
static long burst_at[PLACES];
/* Work that is due and not yet done, in pieces, less than one of each kind; negative if too much was done. */
static double owed[KINDS];

static void reset_bursts(void)
{
    memset(burst_at, 0, sizeof burst_at);
    memset(owed, 0, sizeof owed);
}

/* Do the next burst of a place: whole pieces of each kind of work; the remainder is done with a later burst. */
static void compute(int at)
{
    double begin = now(), burst = bursts_of[at][rank].bursts[burst_at[at]];
    if (++burst_at[at] == bursts_of[at][rank].length)
        burst_at[at] = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        owed[kind] += mix[region_of[at]][kind] * (burst - call) / pieces[kind];
        if (owed[kind] >= 1) {
            long whole = (long)owed[kind];
            owed[kind] -= (double)whole;
            work(kind, whole);
        }
    }
    computed += now() - begin;
}

//@ run
/* Run the program once; return the time until the last rank has ended, s, and the share of computation. */
static double run(double *share)
{
    double begin, took, seconds, together;
    RESET_TABLES;
    RESET_BURSTS;
    RESET_REQUESTS;
    computed = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = now();
    program();
    took = now() - begin;
    MPI_Allreduce(&took, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&computed, &together, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    *share = together / RANKS / seconds;
    return seconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, long count)
{
    double *sorted = room_for((size_t)count * sizeof *sorted), found;
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    found = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    free(sorted);
    return found;
}

/* Print an error once, and exit; called by all ranks. */
static int refuse(const char *place, const char *rule, const char *got)
{
    if (rank == 0)
        fprintf(stderr, "%s: %s, got %s\n", place, rule, got);
    MPI_Finalize();
    return 2;
}

/* Time of a run, s, and the share of computation in it; both negative if unknown. */
typedef struct {
    double seconds, share;
} Timed;

/* Read a run of this skeleton on an otherwise idle computer. */
static Timed read_dedicated(const char *name, char *got, size_t room_of_got)
{
    char text[1 << 16], identity[64] = "another file";
    Timed run = {-1, -1};
    FILE *file = fopen(name, "r");
    size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    const char *at;
    text[length] = 0;
    if (file != NULL)
        fclose(file);
    if ((at = strstr(text, "\"skeleton\":")) != NULL && sscanf(at, "\"skeleton\": \"%40[0-9a-f]\"", identity) == 1
        && strcmp(identity, IDENTITY) == 0 && (at = strstr(text, "\"seconds\":")) != NULL) {
        sscanf(at, "\"seconds\": %lf", &run.seconds);
        if ((at = strstr(text, "\"compute\":")) != NULL)
            sscanf(at, "\"compute\": %lf", &run.share);
    }
    snprintf(got, room_of_got, "%s", file == NULL ? "no such file" : identity);
    return run;
}

static void show(Timed run, Timed dedicated)
{
    /* Messages are those of the application, computation is not: it counts for what is left of the dedicated run. */
    double own = dedicated.seconds * dedicated.share, rest = dedicated.seconds - own;
    double computation = own > 0 ? APPLICATION - SCALE * rest : 0;
    printf("measured %.4g s on %d rank%s; the application would take ", run.seconds, RANKS, RANKS == 1 ? "" : "s");
    if (dedicated.seconds <= 0)
        printf("%.4g s x %.4g = %.4g", run.seconds, SCALE, run.seconds * SCALE);
    else if (computation <= 0)
        printf("%.4g s x %.4g s / %.4g s = %.4g", run.seconds, APPLICATION, dedicated.seconds,
               run.seconds * APPLICATION / dedicated.seconds);
    else
        printf("%.4g s of computation x %.4g + %.4g s of communication x %.4g = %.4g", run.seconds * run.share,
               computation / own, run.seconds * (1 - run.share), SCALE,
               run.seconds * (run.share * computation / own + (1 - run.share) * SCALE));
    printf(" s here (recorded: %.4g s)\n", APPLICATION);
}

static void show_json(Timed run, Timed dedicated, const double *runs, long repeats, const char *hosts)
{
    printf("{\"skeleton\": \"%s\", \"recording\": \"%s\", ", IDENTITY, RECORDING);
    printf("\"ranks\": %d, \"seconds\": %.9g, ", RANKS, run.seconds);
    printf("\"scale\": %.17g, \"application\": %.17g, ", SCALE, APPLICATION);
    if (dedicated.seconds > 0)
        printf("\"dedicated\": %.9g, ", dedicated.seconds);
    if (dedicated.share >= 0)
        printf("\"dedicated_compute\": %.6g, ", dedicated.share);
    printf("\"runs\": [");
    for (long i = 0; i < repeats; i++)
        printf("%s%.9g", i ? ", " : "", runs[i]);
    printf("], \"host\": [");
    for (int i = 0, told = 0; i < RANKS; i++) {
        int known = 0;
        for (int j = 0; j < i && !known; j++)
            known = strcmp(hosts + i * MPI_MAX_PROCESSOR_NAME, hosts + j * MPI_MAX_PROCESSOR_NAME) == 0;
        if (!known)
            printf("%s\"%s\"", told++ ? ", " : "", hosts + i * MPI_MAX_PROCESSOR_NAME);
    }
    printf("], \"compute\": %.6g}\n", run.share);
}

int main(int argc, char **argv)
{
    const char *file = NULL;
    char name[MPI_MAX_PROCESSOR_NAME] = "", got[128], *hosts, *end;
    int own, size, length, json = 0;
    long repeats = 1;
    double *runs, *shares;
    Timed dedicated = {-1, -1};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &length); /* as mpi4py does: some libraries wait otherwise */
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    rank = own;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = 1;
        else if (strcmp(argv[i], "--repeats") == 0 && i + 1 < argc) {
            repeats = strtol(argv[++i], &end, 10);
            if (repeats < 1 || *end != 0)
                return refuse(argv[0], "--repeats must be a whole number of at least 1", argv[i]);
        } else if (strcmp(argv[i], "--dedicated") == 0 && i + 1 < argc)
            file = argv[++i];
        else
            return refuse(argv[0], "options must be --json, --repeats N or --dedicated FILE.json", argv[i]);
    }
    if (size != RANKS) {
        if (rank == 0)
            fprintf(stderr, "%s: must run on %d rank%s, got %d\n", argv[0], RANKS, RANKS == 1 ? "" : "s", size);
        MPI_Finalize();
        return 2;
    }
    if (file != NULL) {
        if (rank == 0)
            dedicated = read_dedicated(file, got, sizeof got);
        MPI_Bcast(&dedicated, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (dedicated.seconds <= 0)
            return refuse(file, "file must be what this program prints with --json (skeleton " IDENTITY ")", got);
    }
    data = room_for(LARGEST);
    room = room_for(LARGEST);
    memset(data, 0, LARGEST);
    prepare_work(1 << 25);
    PREPARE_MEMORY;
    PREPARE_COMMS;
    PREPARE_OPERATIONS;
    PREPARE_BUFFER;
    runs = room_for((size_t)repeats * sizeof *runs);
    shares = room_for((size_t)repeats * sizeof *shares);
    for (long i = 0; i < repeats; i++)
        runs[i] = run(&shares[i]);
    MPI_Get_processor_name(name, &length);
    hosts = room_for((size_t)RANKS * MPI_MAX_PROCESSOR_NAME);
    MPI_Gather(name, sizeof name, MPI_CHAR, hosts, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    Timed typical = {median(runs, repeats), median(shares, repeats)};
    if (rank == 0 && json)
        show_json(typical, dedicated, runs, repeats, hosts);
    else if (rank == 0)
        show(typical, dedicated);
    MPI_Finalize();
    return 0;
}
