/** Control sockets of Open vSwitch's daemons: whatever answers, or does not. */
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Unixctl, UnixctlRefused, UnixctlSilent } from '../../../../src/node/programs/unixctl.ts';
import { ownFolder } from '../../../support/run/left-behind.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A daemon that does `answer` with each connection's first bytes. */
async function daemon(
  answer: (socket: Socket, request: string) => void,
  timeout = 30_000,
): Promise<Unixctl> {
  const folder = ownFolder('heddle-unixctl');
  writeFileSync(join(folder, 'ovs-vswitchd.pid'), '12\n');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => answer(socket, data.toString()));
    ends.push(() => socket.destroy());
  });
  await new Promise<void>((resolve) =>
    server.listen(join(folder, 'ovs-vswitchd.12.ctl'), () => resolve()),
  );
  ends.push(() => server.close());
  return new Unixctl({ folder, daemon: 'ovs-vswitchd', timeout });
}

const run = (unixctl: Unixctl, signal = new AbortController().signal): Promise<string> =>
  unixctl.run('dpctl/ct-get-nconns', ['netdev@ovs-netdev'], signal);

test('a command is sent with its arguments, and its answer is read in whatever pieces it comes', async () => {
  const requests: unknown[] = [];
  const unixctl = await daemon((socket, request) => {
    requests.push(JSON.parse(request));
    socket.write('{"id":0,"result":"{12}');
    setImmediate(() => socket.write('\\n","error":null}'));
  });
  expect(await run(unixctl)).toBe('{12}\n');
  expect(requests).toEqual([
    { id: 0, method: 'dpctl/ct-get-nconns', params: ['netdev@ovs-netdev'] },
  ]);
});

test.each([
  ['refuses', '{"id":0,"error":"datapath not found\\n"}', /ct-get-nconns: datapath not found$/],
  ['is something else', '{"hello":1}', /no daemon of Open vSwitch/],
  ['says something else', '{"id":0,"result":{},"error":null}', /no daemon of Open vSwitch/],
])('one that %s', async (_what, answer, message) => {
  const unixctl = await daemon((socket) => socket.end(answer));
  await expect(run(unixctl)).rejects.toThrow(message);
});

test('one that refuses without a word', async () => {
  const unixctl = await daemon((socket) => socket.end('{"id":0,"error":""}'));
  await expect(run(unixctl)).rejects.toThrow(UnixctlRefused);
});

test('one that goes away in its answer', async () => {
  const unixctl = await daemon((socket) => socket.end('{"id":0,'));
  await expect(run(unixctl)).rejects.toThrow('it went away before it answered');
});

test('one whose answer has no end', async () => {
  const unixctl = await daemon((socket) => {
    const more = (): void => void (socket.destroyed || socket.write('x'.repeat(1 << 20), more));
    more();
  });
  await expect(run(unixctl)).rejects.toThrow('its answer has no end');
});

test('one that is silent', async () => {
  const unixctl = await daemon(() => undefined, 100);
  const asked = run(unixctl);
  await expect(asked).rejects.toThrow('no answer within 0.1 s');
  await expect(asked).rejects.toThrow(UnixctlSilent);
});

test('one that is not there', async () => {
  const unixctl = new Unixctl({ folder: ownFolder('heddle-unixctl'), daemon: 'ovs-vswitchd' });
  await expect(run(unixctl)).rejects.toMatchObject({ code: 'UNIXCTL_FAILED' });
});

test('who asks can end it', async () => {
  const asked = new AbortController();
  const unixctl = await daemon(() => asked.abort());
  const asking = run(unixctl, asked.signal);
  await expect(asking).rejects.toMatchObject({ code: 'UNIXCTL_FAILED' });
  await expect(asking).rejects.not.toThrow(UnixctlSilent);
});
