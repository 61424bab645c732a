import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pageServer, type ServedPage } from '../../../src/cli/ui-server.ts';

const TOKEN = 'a-token-of-some-length';
const PAGE: ServedPage = { html: '<!doctype html>the page', time: '2026-01-01T00:00:00.000Z' };

let page: ServedPage | undefined;
const server = pageServer({ page: () => page, token: TOKEN });
let port: number;
beforeEach(async () => {
  page = PAGE;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  server.close();
  await once(server, 'close');
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

async function ask(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  const asked = request({ port, host: '127.0.0.1', path, method, headers, agent: false });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of response) text += String(part);
  return { status: response.statusCode, headers: response.headers, text };
}
const bearer = { authorization: `Bearer ${TOKEN}` };

test('the address with the token leads to the page, by a cookie that scripts do not read', async () => {
  const first = await ask(`/?token=${TOKEN}`);
  expect(first).toMatchObject({ status: 303, headers: { location: '/' } });
  const [cookie = ''] = first.headers['set-cookie'] ?? [];
  expect(cookie).toContain('HttpOnly; SameSite=Strict');
  expect(await ask('/', { cookie: cookie.split(';')[0] ?? '' })).toMatchObject({
    status: 200,
    text: PAGE.html,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
    },
  });
});

test('who has the token in a header gets the page and its time', async () => {
  expect(await ask('/', bearer)).toMatchObject({ status: 200, text: PAGE.html });
  expect(await ask('/time', bearer)).toMatchObject({ status: 200, text: PAGE.time });
  expect(await ask('/', bearer, 'HEAD')).toMatchObject({ status: 200, text: '' });
  expect(await ask('/other', bearer)).toMatchObject({ status: 404 });
});

describe('nothing is told to', () => {
  test.each([
    ['nobody in particular', '/', {}],
    ['another token', '/', { authorization: 'Bearer a-token-of-some-lengtH' }],
    ['the beginning of the token', '/', { authorization: 'Bearer a-token' }],
    ['a cookie of another port', '/', { cookie: `heddle-1=${TOKEN}` }],
    ['a wrong token in the address', '/?token=wrong', {}],
    ['who asks for the time alone', '/time', {}],
  ])('%s', async (_, path, headers) => {
    const { status, text } = await ask(path, headers);
    expect(status).toBe(401);
    expect(text).not.toContain('the page<');
    expect(text).not.toContain(PAGE.time);
  });

  test('a page of somebody else that leads here by its own name', async () => {
    const { status } = await ask('/', { ...bearer, host: `evil.example:${port}` });
    expect(status).toBe(421);
  });

  test('who writes', async () => {
    expect(await ask('/', bearer, 'POST')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
  });
});

test('before there is a page it says so, and the browser asks again', async () => {
  page = undefined;
  expect(await ask('/', bearer)).toMatchObject({
    status: 503,
    text: 'the page is being made\n',
    headers: { refresh: '2' },
  });
});

test.each(['//', '/?token=%', '/%00', 'http://[', '*'])(
  '%s as a path breaks nothing',
  async (path) => {
    expect((await ask(path, bearer)).status).toBeGreaterThanOrEqual(200);
    expect(await ask('/', bearer)).toMatchObject({ status: 200 });
  },
);
