// SPDX-License-Identifier: Apache-2.0
//
// The baseline of `bench`: a WebSocket server that broadcasts text messages and stores nothing. One thread, epoll, one
// send(2) for each delivery.
//
//     Broadcaster PORT
//
// It listens on 127.0.0.1. The path of a handshake is /all/ROOM or /others/ROOM. A text frame goes to every socket of
// the room; the sender is included if its own path begins with /all/.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MAX_EVENTS = 512,
    READ_BYTES = 65536,
    MAX_MESSAGE = 1 << 20,
    // The most bytes that wait for a socket that does not read. Beyond it the socket is closed.
    MAX_BACKLOG = 16 << 20,
    ROOM_SLOTS = 16384,
    MAX_ROOM_NAME = 64,
};

struct bytes {
    uint8_t *data;
    size_t count, capacity;
};

struct room;

struct connection {
    int socket;
    int includes_self, is_closed;
    struct room *room;
    // The place in the room's list.
    size_t place;
    struct bytes input, output;
    // Closed connections are freed after the events of one turn.
    struct connection *next_closed;
};

struct room {
    char name[MAX_ROOM_NAME];
    struct connection **members;
    size_t count, capacity;
    struct room *next;
};

static struct room *rooms[ROOM_SLOTS];
static struct connection *closed;
static int poller;

static void *checked(void *memory) {
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void append(struct bytes *to, const void *data, size_t count) {
    if (to->count + count > to->capacity) {
        to->capacity = (to->count + count) * 2;
        to->data = checked(realloc(to->data, to->capacity));
    }
    memcpy(to->data + to->count, data, count);
    to->count += count;
}

static void release(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}

static void drop_first(struct bytes *bytes, size_t count) {
    bytes->count -= count;
    if (bytes->count == 0) {
        release(bytes);
    } else if (count) {
        memmove(bytes->data, bytes->data + count, bytes->count);
    }
}

static struct room *find_room(const char *name) {
    uint32_t hash = 2166136261u;
    for (const char *at = name; *at; at++) hash = (hash ^ (uint8_t)*at) * 16777619u;
    struct room **slot = &rooms[hash % ROOM_SLOTS];
    for (struct room *room = *slot; room; room = room->next) {
        if (strcmp(room->name, name) == 0) return room;
    }
    struct room *room = checked(calloc(1, sizeof *room));
    snprintf(room->name, sizeof room->name, "%s", name);
    room->next = *slot;
    return *slot = room;
}

static void join(struct connection *connection, const char *name) {
    struct room *room = find_room(name);
    if (room->count == room->capacity) {
        room->capacity = room->capacity ? room->capacity * 2 : 8;
        room->members = checked(realloc(room->members, room->capacity * sizeof *room->members));
    }
    connection->room = room;
    connection->place = room->count;
    room->members[room->count++] = connection;
}

static void close_connection(struct connection *connection) {
    if (connection->is_closed) return;
    connection->is_closed = 1;
    close(connection->socket);
    struct room *room = connection->room;
    if (room) {
        struct connection *last = room->members[--room->count];
        room->members[connection->place] = last;
        last->place = connection->place;
    }
    connection->next_closed = closed;
    closed = connection;
}

static void watch(struct connection *connection, int operation) {
    struct epoll_event event = {.events = EPOLLIN | (connection->output.count ? EPOLLOUT : 0), .data.ptr = connection};
    if (epoll_ctl(poller, operation, connection->socket, &event) != 0) close_connection(connection);
}

static void write_bytes(struct connection *connection, const void *data, size_t count) {
    if (connection->is_closed) return;
    ssize_t sent = 0;
    if (connection->output.count == 0) {
        sent = send(connection->socket, data, count, MSG_NOSIGNAL);
        if (sent == (ssize_t)count) return;
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                close_connection(connection);
                return;
            }
            sent = 0;
        }
    }
    int was_empty = connection->output.count == 0;
    append(&connection->output, (const uint8_t *)data + sent, count - (size_t)sent);
    if (connection->output.count > MAX_BACKLOG) {
        close_connection(connection);
    } else if (was_empty) {
        watch(connection, EPOLL_CTL_MOD);
    }
}

static void flush(struct connection *connection) {
    ssize_t sent = send(connection->socket, connection->output.data, connection->output.count, MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno != EAGAIN && errno != EINTR) close_connection(connection);
        return;
    }
    drop_first(&connection->output, (size_t)sent);
    if (connection->output.count == 0) watch(connection, EPOLL_CTL_MOD);
}

static uint32_t rotate(uint32_t value, int by) { return value << by | value >> (32 - by); }

static void sha1_block(uint32_t state[5], const uint8_t *block) {
    uint32_t w[80];
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++) {
        uint32_t f, k;
        if (i < 20) f = (b & c) | (~b & d), k = 0x5A827999;
        else if (i < 40) f = b ^ c ^ d, k = 0x6ED9EBA1;
        else if (i < 60) f = (b & c) | (b & d) | (c & d), k = 0x8F1BBCDC;
        else f = b ^ c ^ d, k = 0xCA62C1D6;
        uint32_t next = rotate(a, 5) + f + e + k + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

// Computes Sec-WebSocket-Accept (RFC 6455 §4.2.2). `text` has room for 29 bytes.
static void accept_key(const char *key, size_t count, char *text) {
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t input[128] = {0}, digest[21] = {0};
    memcpy(input, key, count);
    memcpy(input + count, guid, sizeof guid - 1);
    size_t length = count + sizeof guid - 1, blocks = (length + 8) / 64 + 1;
    input[length] = 0x80;
    for (int i = 0; i < 8; i++) input[blocks * 64 - 1 - (size_t)i] = (uint8_t)((uint64_t)length * 8 >> (8 * i));
    uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    for (size_t block = 0; block < blocks; block++) sha1_block(state, input + block * 64);
    for (int i = 0; i < 20; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
    for (int i = 0; i < 7; i++) {
        uint32_t group = (uint32_t)digest[3 * i] << 16 | digest[3 * i + 1] << 8 | digest[3 * i + 2];
        for (int j = 0; j < 4; j++) text[4 * i + j] = letters[group >> (18 - 6 * j) & 63];
    }
    text[27] = '=';
    text[28] = 0;
}

// Answers the handshake. Returns the bytes it consumed; 0: it is incomplete.
static size_t handshake(struct connection *connection) {
    uint8_t *end = memmem(connection->input.data, connection->input.count, "\r\n\r\n", 4);
    if (!end) {
        if (connection->input.count > READ_BYTES) close_connection(connection);
        return 0;
    }
    end[2] = 0;
    char *head = (char *)connection->input.data, all[8], name[MAX_ROOM_NAME], key[32], accept[29], answer[256];
    char *line = strcasestr(head, "\r\nSec-WebSocket-Key:");
    if (sscanf(head, "GET /%7[a-z]/%63[^ ?]", all, name) != 2 || !line
        || sscanf(line, "\r\n%*[^:]: %31[^ \r]", key) != 1) {
        close_connection(connection);
        return 0;
    }
    accept_key(key, strlen(key), accept);
    int count = snprintf(answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
    connection->includes_self = strcmp(all, "all") == 0;
    join(connection, name);
    write_bytes(connection, answer, (size_t)count);
    return (size_t)(end + 4 - connection->input.data);
}

// Writes a frame's header. Returns its size, at most 10 bytes.
static size_t frame_header(uint8_t *header, uint8_t opcode, size_t length) {
    header[0] = 0x80 | opcode;
    if (length < 126) {
        header[1] = (uint8_t)length;
        return 2;
    }
    int bytes = length < 65536 ? 2 : 8;
    header[1] = bytes == 2 ? 126 : 127;
    for (int i = 0; i < bytes; i++) header[2 + i] = (uint8_t)((uint64_t)length >> (8 * (bytes - 1 - i)));
    return 2 + (size_t)bytes;
}

static void broadcast(struct connection *sender, const uint8_t *frame, size_t count) {
    struct room *room = sender->room;
    // From the last to the first: closing a member moves the last one into its place.
    for (size_t i = room->count; i-- > 0;) {
        struct connection *member = room->members[i];
        if (member != sender || sender->includes_self) write_bytes(member, frame, count);
    }
}

// Reads one frame at an offset. Returns its size; 0: it is incomplete or invalid.
static size_t read_frame(struct connection *connection, size_t offset) {
    uint8_t *data = connection->input.data + offset;
    size_t available = connection->input.count - offset, header = 2;
    if (available < 2) return 0;
    uint64_t length = data[1] & 127;
    int more = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (available < header + (size_t)more + 4) return 0;
    if (more) {
        length = 0;
        for (int i = 0; i < more; i++) length = length << 8 | data[2 + i];
        header += (size_t)more;
    }
    uint8_t opcode = data[0] & 15;
    if (!(data[0] & 128) || !(data[1] & 128) || length > MAX_MESSAGE || opcode == 8) {
        close_connection(connection);
        return 0;
    }
    if (available < header + 4 + length) return 0;
    uint8_t mask[4], *payload = data + header + 4, out[10];
    memcpy(mask, data + header, 4);
    if (mask[0] | mask[1] | mask[2] | mask[3]) {
        for (uint64_t i = 0; i < length; i++) payload[i] ^= mask[i & 3];
    }
    // The client's header has four bytes more than the server's, so the new header fits in front of the payload.
    size_t size = frame_header(out, opcode == 9 ? 10 : 1, length);
    memcpy(payload - size, out, size);
    if (opcode == 1) broadcast(connection, payload - size, size + length);
    if (opcode == 9) write_bytes(connection, payload - size, size + length);
    return header + 4 + length;
}

static void receive(struct connection *connection) {
    static uint8_t buffer[READ_BYTES];
    ssize_t count = recv(connection->socket, buffer, sizeof buffer, 0);
    if (count <= 0) {
        if (count == 0 || (errno != EAGAIN && errno != EINTR)) close_connection(connection);
        return;
    }
    append(&connection->input, buffer, (size_t)count);
    size_t used = 0, step;
    if (!connection->room) {
        used = handshake(connection);
        if (used == 0) return;
    }
    while (!connection->is_closed && (step = read_frame(connection, used)) > 0) used += step;
    drop_first(&connection->input, used);
}

static void accept_all(int listener) {
    int one = 1, socket;
    while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct connection *connection = checked(calloc(1, sizeof *connection));
        connection->socket = socket;
        watch(connection, EPOLL_CTL_ADD);
    }
}

static void free_closed(void) {
    while (closed) {
        struct connection *connection = closed;
        closed = connection->next_closed;
        release(&connection->input);
        release(&connection->output);
        free(connection);
    }
}

static int listen_on(int port) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0) {
        perror("Broadcaster");
        exit(1);
    }
    return listener;
}

int main(int count, char **arguments) {
    if (count < 2) {
        fputs("usage: Broadcaster PORT\n", stderr);
        return 64;
    }
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int listener = listen_on(atoi(arguments[1]));
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[MAX_EVENTS], accepting = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &accepting);
    for (;;) {
        int ready = epoll_wait(poller, events, MAX_EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            if (!connection) {
                accept_all(listener);
                continue;
            }
            if (connection->is_closed) continue;
            if (events[i].events & EPOLLOUT) flush(connection);
            if (!connection->is_closed && events[i].events & ~EPOLLOUT) receive(connection);
        }
        free_closed();
    }
}
#else
int main(void) {
    fputs("The baseline of the benchmark needs Linux.\n", stderr);
    return 69;
}
#endif
