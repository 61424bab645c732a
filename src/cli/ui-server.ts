/** Serves a page to browsers of one person: on loopback to whoever has the token, on a socket to whoever may open that. It takes nothing but GET. */
import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

export interface ServedPage {
  readonly html: string;
  /** RFC 3339: when what it shows was read. */
  readonly time: string;
}

export interface PageServerOptions {
  /** The newest page; undefined while there is none. */
  readonly page: () => ServedPage | undefined;
  /** Absent on a socket, whose mode says who may open it. */
  readonly token?: string;
}

const TIME = '/time';
/** Milliseconds within which a request is to be there, and bytes of its head. */
const REQUEST_TIMEOUT = 10_000;
const MOST_HEAD = 8192;
/** Names under which a browser of this host reaches loopback: another name that leads here is somebody else's page (DNS rebinding). */
const OWN_HOSTS = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?$/;

const COMMON = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export const pageServer = (options: PageServerOptions): Server =>
  createServer(
    { requestTimeout: REQUEST_TIMEOUT, maxHeaderSize: MOST_HEAD },
    (request, response) => {
      request.resume();
      answer(options, request, response);
    },
  );

function answer(
  { page, token }: PageServerOptions,
  { method = '', url = '/', headers }: IncomingMessage,
  response: ServerResponse,
): void {
  const say = (status: number, text: string, more: Record<string, string> = {}): void => {
    const type = text.startsWith('<!doctype') ? 'text/html' : 'text/plain';
    response.writeHead(status, { ...COMMON, 'Content-Type': `${type}; charset=utf-8`, ...more });
    response.end(method === 'HEAD' ? undefined : text);
  };
  if (method !== 'GET' && method !== 'HEAD') return say(405, 'only GET\n', { Allow: 'GET, HEAD' });
  const asked = URL.parse(url, 'http://page');
  if (asked === null) return say(400, 'no address\n');
  const { pathname, searchParams } = asked;
  if (token !== undefined) {
    if (!OWN_HOSTS.test(headers.host ?? '')) return say(421, 'not the name of this host\n');
    const given = searchParams.get('token');
    if (given !== null && isSame(given, token))
      return say(303, 'see /\n', {
        Location: '/',
        'Set-Cookie': `${cookieOf(headers)}=${token}; HttpOnly; SameSite=Strict; Path=/`,
      });
    const held = [cookieIn(headers), bearerIn(headers)];
    if (!held.some((one) => one !== undefined && isSame(one, token)))
      return say(401, 'open the address that heddle ui printed: it has the token\n', {
        'WWW-Authenticate': 'Bearer',
      });
  }
  const found = page();
  if (pathname !== '/' && pathname !== TIME) return say(404, 'there are / and /time\n');
  if (found === undefined)
    return say(503, 'the page is being made\n', { 'Retry-After': '2', Refresh: '2' });
  say(200, pathname === '/' ? found.html : found.time);
}

/** Browsers have one jar for all ports of a host. */
const cookieOf = ({ host = '' }: IncomingMessage['headers']): string =>
  `heddle-${/:(\d+)$/.exec(host)?.[1] ?? '80'}`;

const cookieIn = (headers: IncomingMessage['headers']): string | undefined =>
  (headers.cookie ?? '')
    .split(/; */)
    .map((one) => one.split('='))
    .find(([name]) => name === cookieOf(headers))?.[1];

const bearerIn = ({ authorization = '' }: IncomingMessage['headers']): string | undefined =>
  /^Bearer (\S+)$/i.exec(authorization)?.[1];

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
