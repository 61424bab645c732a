/** Requests against a kernel that is a script: what it answers, and what then becomes of the request. */
import { openSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  changeAll,
  deleteLink,
  links,
  MalformedMessage,
  NetlinkError,
  NetlinkSocket,
  routes,
  type Query,
  type Request,
} from '../../../src/netlink/index.ts';
import type { Libc } from '../../../src/netlink/socket/libc.ts';
import { ByteWriter } from '../../../src/netlink/wire/byte-writer.ts';
import { CONTROL, FLAG, readMessages, writeMessage } from '../../../src/netlink/wire/message.ts';

const EAGAIN = 11;
const ENOBUFS = 105;
const LINK = 16;
const MULTI = 2;

/** What comes for a request: datagrams, and numbers of errors. */
type Answer = (sequence: number) => readonly (Uint8Array | number)[];

/** A kernel that answers each send; `sent` has the types of the first messages. */
function kernelOf(...answers: readonly Answer[]): { library: Libc; sent: number[] } {
  const queue: (Uint8Array | number)[] = [];
  const sent: number[] = [];
  const library: Libc = {
    socket: () => openSync('/dev/null', 'r'),
    connect: () => 0,
    frameSocket: () => openSync('/dev/null', 'r'),
    bindToDevice: () => 0,
    attachFilter: () => 0,
    setOption: () => 0,
    getOption: () => 0,
    receiveFrame: () => -EAGAIN,
    internetSocket: () => -EAGAIN,
    bindToAddress: () => -EAGAIN,
    send: (_, bytes) => {
      const [message] = readMessages(bytes);
      queue.push(...(answers[sent.length]?.(message?.sequence ?? 0) ?? []));
      sent.push(message?.type ?? 0);
      return bytes.length;
    },
    sendAside: (fd, bytes) => Promise.resolve(library.send(fd, bytes)),
    receive: (_, buffer) => {
      const next = queue.shift() ?? -EAGAIN;
      if (typeof next === 'number') return next;
      buffer.set(next.subarray(0, buffer.length));
      return next.length;
    },
    receiveAside: (fd, buffer) => Promise.resolve(library.receive(fd, buffer)),
    enterNetwork: () => 0,
    socketPair: () => 0,
    duplicate: () => 0,
  };
  return { library, sent };
}

function socketOf(...answers: readonly Answer[]): { socket: NetlinkSocket; sent: number[] } {
  const { library, sent } = kernelOf(...answers);
  return { socket: new NetlinkSocket('route', { library }), sent };
}

const link = (sequence: number, index: number, flags = MULTI): Uint8Array => {
  const body = new ByteWriter()
    .u8(0)
    .u8(0)
    .u16(1)
    .i32(index)
    .u32(0)
    .u32(0)
    .text(3, `d${index}`).bytes;
  return writeMessage({ type: LINK, flags, sequence, body });
};
const done = (sequence: number, flags = MULTI): Uint8Array =>
  writeMessage({ type: CONTROL.done, flags, sequence, body: new ByteWriter().i32(0).bytes });
const refused = (sequence: number, errno: number, reason?: string): Uint8Array => {
  const body = new ByteWriter().i32(-errno).u32(16).u32(0).u32(sequence).u32(0);
  if (reason !== undefined) body.text(1, reason);
  const flags = reason === undefined ? 0 : FLAG.capped | FLAG.withAttributes;
  return writeMessage({ type: CONTROL.error, flags, sequence, body: body.bytes });
};
const joined = (...parts: readonly Uint8Array[]): Uint8Array =>
  new Uint8Array(Buffer.concat(parts));
const names = (found: readonly { name: string }[]): string[] => found.map(({ name }) => name);

function failure(work: () => unknown): NetlinkError {
  try {
    work();
  } catch (error) {
    return error as NetlinkError;
  }
  throw new Error('it did not fail');
}

describe('a dump', () => {
  test('is read over several datagrams, to its end', () => {
    const { socket } = socketOf((n) => [joined(link(n, 1), link(n, 2)), link(n, 3), done(n)]);
    expect(names(socket.dump(links()))).toEqual(['d1', 'd2', 'd3']);
  });

  test('during which something changed is made again', () => {
    const { socket, sent } = socketOf(
      (n) => [link(n, 1, MULTI | FLAG.dumpInterrupted), done(n)],
      (n) => [link(n, 1), done(n, MULTI | FLAG.dumpInterrupted)],
      (n) => [link(n, 2), done(n)],
    );
    expect(names(socket.dump(links()))).toEqual(['d2']);
    expect(sent).toHaveLength(3);
  });

  test('during which something changes each time fails in the end, and says so', () => {
    const always: Answer = (n) => [done(n, MULTI | FLAG.dumpInterrupted)];
    const { socket } = socketOf(...Array.from({ length: 20 }, () => always));
    expect(failure(() => socket.dump(links()))).toMatchObject({
      code: 'NETLINK_INTERRUPTED',
      message: 'show all links: what was to be shown changed meanwhile, 8 times',
    });
  });

  test('takes nothing that belongs to an older request', () => {
    const { socket } = socketOf((n) => [
      joined(link(n - 1, 1), done(n - 1)),
      joined(link(n, 2), done(n)),
    ]);
    expect(names(socket.dump(links()))).toEqual(['d2']);
  });

  test('that ends with an error fails with it; of a table that is not there it is empty', () => {
    const end =
      (errno: number): Answer =>
      (n) => [
        writeMessage({
          type: CONTROL.done,
          flags: MULTI,
          sequence: n,
          body: new ByteWriter().i32(-errno).bytes,
        }),
      ];
    const table = routes({ family: 'v4', table: 7 });
    expect(socketOf(end(2)).socket.dump(table)).toEqual([]);
    expect(socketOf((n) => [refused(n, 2)]).socket.dump(table)).toEqual([]);
    expect(failure(() => socketOf(end(22)).socket.dump(table)).code).toBe('EINVAL');
  });

  test('with an object that can’t be read fails, and the next request gets its own answer', () => {
    const { socket } = socketOf(
      (n) => [
        writeMessage({ type: LINK, flags: MULTI, sequence: n, body: new Uint8Array(3) }),
        link(n, 1),
        done(n),
      ],
      (n) => [joined(link(n, 2), done(n))],
    );
    expect(() => socket.dump(links())).toThrow(MalformedMessage);
    expect(names(socket.dump(links()))).toEqual(['d2']);
  });
});

describe('a dump in pieces', () => {
  async function pieces(socket: NetlinkSocket): Promise<string[][]> {
    const found: string[][] = [];
    for await (const piece of socket.dumpInPieces(links())) found.push(names(piece));
    return found;
  }
  const isClosed = (socket: NetlinkSocket): boolean =>
    failure(() => socket.change(deleteLink('a'))).message.endsWith('the socket is closed');

  test('gives what each datagram holds, be it nothing, and the next request gets its own answer', async () => {
    const { socket } = socketOf(
      (n) => [joined(link(n, 1), link(n, 2)), link(n - 1, 7), joined(link(n, 3), done(n))],
      (n) => [joined(link(n, 4), done(n))],
    );
    expect(await pieces(socket)).toEqual([['d1', 'd2'], [], ['d3']]);
    expect(names(socket.dump(links()))).toEqual(['d4']);
  });

  test('lets nothing else be asked meanwhile: the answers would mix', async () => {
    const { socket, sent } = socketOf((n) => [link(n, 1), joined(link(n, 2), done(n))]);
    for await (const piece of socket.dumpInPieces(links())) {
      expect(piece).toHaveLength(1);
      expect(failure(() => socket.change(deleteLink('a'))).code).toBe('EBUSY');
    }
    expect(sent).toEqual([expect.any(Number)]);
  });

  test('that is left before its end closes the socket: the rest would be taken for the next answer', async () => {
    const { socket } = socketOf((n) => [link(n, 1), joined(link(n, 2), done(n))]);
    for await (const piece of socket.dumpInPieces(links())) {
      expect(piece).toHaveLength(1);
      break;
    }
    expect(isClosed(socket)).toBe(true);
  });

  test.each([
    [
      'changed meanwhile',
      'NETLINK_INTERRUPTED',
      (n: number) => [done(n, 2 | FLAG.dumpInterrupted)],
    ],
    ['is refused', 'EPERM', (n: number) => [refused(n, 1)]],
  ])('of what %s fails at its end, and the socket goes on', async (_, code, answer) => {
    const { socket } = socketOf(answer, (n) => [refused(n, 0)]);
    await expect(pieces(socket)).rejects.toMatchObject({ code });
    socket.change(deleteLink('a'));
  });

  test.each([
    ['lost', 'ENOBUFS', () => [-ENOBUFS]],
    ['too long', 'NETLINK_TOO_LONG', () => [new Uint8Array(300_000)]],
    ['no message', 'NETLINK_MALFORMED', () => [new Uint8Array(9)]],
  ] as const)('whose answer is %s ends the socket', async (_, code, answer) => {
    const { socket } = socketOf(answer);
    await expect(pieces(socket)).rejects.toMatchObject({ code });
    expect(isClosed(socket)).toBe(true);
  });
});

describe('a request', () => {
  test('that is refused fails with what was asked, what the kernel says, and the number’s name', () => {
    const { socket } = socketOf((n) => [refused(n, 17, 'Address already assigned')]);
    const error = failure(() =>
      socket.change({ ...deleteLink('a'), what: 'add address 10.0.0.1/24' }),
    );
    expect(error).toBeInstanceOf(NetlinkError);
    expect(error).toMatchObject({
      code: 'EEXIST',
      reason: 'Address already assigned',
      message: 'add address 10.0.0.1/24: Address already assigned (file already exists)',
    });
  });

  test('that is refused leaves the socket as it was', () => {
    const { socket } = socketOf(
      (n) => [refused(n, 19)],
      (n) => [refused(n, 0)],
    );
    expect(failure(() => socket.change(deleteLink('a'))).message).toBe(
      'delete link a: no such device',
    );
    socket.change(deleteLink('b'));
  });

  test.each([
    ['is not answered', (): readonly number[] => [], 'NETLINK_NO_ANSWER'],
    ['has an answer that was lost', (): readonly number[] => [-ENOBUFS], 'ENOBUFS'],
    [
      'has an answer that is too long',
      (): readonly Uint8Array[] => [new Uint8Array(300_000)],
      'NETLINK_TOO_LONG',
    ],
    [
      'has an answer that is no message',
      (): readonly Uint8Array[] => [new Uint8Array(9)],
      'NETLINK_MALFORMED',
    ],
  ])(
    'that %s ends the socket: what came later would be taken for the next answer',
    (_, answer, code) => {
      const { socket } = socketOf(answer, (n) => [refused(n, 0)]);
      expect(failure(() => socket.change(deleteLink('a'))).code).toBe(code);
      expect(failure(() => socket.change(deleteLink('b'))).message).toBe(
        'delete link b: the socket is closed',
      );
    },
  );

  test('for one object gives it; none is an error', () => {
    const one: Query<number> = {
      ...deleteLink(7),
      what: 'show link 7',
      read: ({ type }) => (type === LINK ? 7 : undefined),
    };
    expect(socketOf((n) => [link(n, 7, 0), refused(n, 0)]).socket.get(one)).toBe(7);
    expect(failure(() => socketOf((n) => [refused(n, 0)]).socket.get(one)).message).toBe(
      'show link 7: the kernel shows nothing',
    );
  });
});

describe('many changes', () => {
  const all = (count: number): Request[] =>
    Array.from({ length: count }, (_, index) => deleteLink(`d${index}`));
  const acknowledged = (first: number, count: number): readonly Uint8Array[] =>
    Array.from({ length: count }, (_, index) => refused(first + index, 0));

  test('go in pieces, and what one is refused for is said in its place', async () => {
    const { library, sent } = kernelOf(
      (n) => [
        // In whatever order and datagrams; one is of an older request.
        joined(refused(n - 1, 22), refused(n + 2, 19), refused(n, 0)),
        refused(n + 1, 17, 'so it is'),
        ...acknowledged(n + 3, 125),
      ],
      (n) => acknowledged(n, 6),
    );
    const refusals = await changeAll('route', all(134), { library });
    expect(sent).toHaveLength(2);
    expect(refusals).toHaveLength(134);
    expect([...refusals.entries()].filter(([, one]) => one !== undefined)).toMatchObject([
      [1, { code: 'EEXIST', message: 'delete link d1: so it is (file already exists)' }],
      [2, { code: 'ENODEV', why: 'no such device' }],
    ]);
  });

  test('are asked for a piece at a time, while those before are done', async () => {
    const { library, sent } = kernelOf(
      (n) => acknowledged(n, 128),
      (n) => acknowledged(n, 128),
      (n) => acknowledged(n, 44),
    );
    const asked: number[] = [];
    const requests = all(300)
      .values()
      .map((request) => {
        asked.push(sent.length);
        return request;
      });
    await changeAll('route', requests, { library });
    expect([0, 127, 128, 255, 256, 299].map((n) => asked[n])).toEqual([0, 0, 1, 1, 2, 2]);
  });

  test.each([
    ['not answered', [], 'NETLINK_NO_ANSWER', 'the kernel does not answer'],
    ['lost', [-ENOBUFS], 'ENOBUFS', 'no buffer space available'],
    ['no message', [new Uint8Array(9)], 'NETLINK_MALFORMED', '9 bytes'],
  ])('of which one acknowledgement is %s fail', async (_, last, code, text) => {
    const { library } = kernelOf((n) => [...acknowledged(n, 2), ...last]);
    await expect(changeAll('route', all(3), { library })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(text) as string,
    });
  });

  test('are done when the last is acknowledged, which alone asks for it', async () => {
    const flags: number[] = [];
    const { library } = kernelOf((n) => [refused(n + 1, 19), refused(n + 2, 0)]);
    const send = library.send.bind(library);
    const spied = {
      ...library,
      sendAside: (fd: number, bytes: Uint8Array) => {
        flags.push(...readMessages(bytes).map((message) => message.flags & FLAG.ack));
        return Promise.resolve(send(fd, bytes));
      },
    };
    const refusals = await changeAll('route', all(3), { library: spied });
    expect(flags).toEqual([0, 0, FLAG.ack]);
    expect(refusals.map((one) => one?.code)).toEqual([undefined, 'ENODEV', undefined]);
  });

  test('that can’t be asked for any more fail when those before are done', async () => {
    const { library, sent } = kernelOf((n) => acknowledged(n, 128));
    function* failing(): Iterable<Request> {
      yield* all(128);
      throw new Error('no more');
    }
    await expect(changeAll('route', failing(), { library })).rejects.toThrow('no more');
    expect(sent).toHaveLength(1);
  });

  test('are none', async () => {
    expect(await changeAll('route', [], { library: kernelOf().library })).toEqual([]);
  });
});
