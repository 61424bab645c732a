/** `heddle ui`: the page of `heddle graph --html`, served to a browser and made anew. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { errorText } from '../api/error-text.ts';
import { listenPrivately } from '../control/private-socket.ts';
import type { PageData } from '../page/page-data.ts';
import { pageHtml } from '../page/page-html.ts';
import { isLoopback, parseBindAddress } from '../process/bind-address.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { limitConnections } from '../process/connection-limit.ts';
import { pageAssets, pageData } from './graph-page.ts';
import { INVENT_NODES } from './invented-zone.ts';
import { atPath } from './named-path.ts';
import { addSettings } from './options.ts';
import { print, report } from './output.ts';
import { pageServer, type ServedPage } from './ui-server.ts';
import { exitCodeOf } from './user-errors.ts';

const DEFAULT_LISTEN = '127.0.0.1:9480';
const DEFAULT_EVERY = '30';
const LONGEST_EVERY = 86_400;
const MOST_CONNECTIONS = 32;
const SHORTEST_TOKEN = 16;
/** Of a cookie and of an address alike. */
const TOKEN = /^[\w.~-]+$/;

interface UiOptions {
  readonly listen: string;
  readonly every: string;
  readonly proof?: string;
  readonly tokenFile?: string;
}

export function register(program: Command): void {
  addSettings(
    program
      .command('ui')
      .description(
        'the networks of a cluster in a browser: the page of heddle graph --html, made anew while somebody looks',
      )
      .option(
        '--listen <HOST:PORT|PATH>',
        'where: an address of loopback, for whoever has the token; or a socket, for its user',
        DEFAULT_LISTEN,
      )
      .option('--every <SECONDS>', 'how often it is made anew', DEFAULT_EVERY)
      .option('--token-file <FILE>', 'the token; a new one at each start if it is not given')
      .option('--proof <FILE>', 'a certificate of heddle verify --certify, read anew each time')
      .option(...INVENT_NODES)
      .addHelpText(
        'after',
        '\nPrints the address to open, with the token in it, and serves until it is ended. It reads and changes nothing else.' +
          '\nFrom another machine: ssh -L 9480:127.0.0.1:9480 NODE, or ssh -L 9480:/run/heddle/ui.sock NODE for a socket.' +
          '\nExit code: 0 ended by a signal, 64 usage.',
      ),
    ['where', 'control', 'cluster', 'behaviour'],
  ).action(async (options: UiOptions, command: Command) => {
    await serve(options, command);
  });
}

async function serve(
  { listen, every, proof, tokenFile }: UiOptions,
  command: Command,
): Promise<void> {
  const interval = secondsOf(every) * 1000;
  const isSocket = listen.includes('/');
  if (isSocket && tokenFile !== undefined)
    throw new ConfigurationError('--token-file', 'is for HOST:PORT: a socket is its user’s alone');
  const token = isSocket ? undefined : await tokenOf(tokenFile);
  const stopped = new AbortController();
  const end = (): void => stopped.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  const assets = await pageAssets();
  let current: ServedPage | undefined;
  let shown = '';
  // Nobody looks: nothing is made.
  let isAsked = true;
  const server = pageServer({
    page() {
      isAsked = true;
      return current;
    },
    ...(token === undefined ? {} : { token }),
  });
  const connections = limitConnections(server, MOST_CONNECTIONS);
  await listening(server, listen);
  print(isSocket ? listen : addressOf(server.address() as AddressInfo, token ?? ''));
  try {
    while (!stopped.signal.aborted) {
      if (isAsked) {
        isAsked = false;
        try {
          const { page } = await pageData(command, proof, { tells: current === undefined });
          const content = contentOf(page);
          if (content !== shown) current = { html: pageHtml(page, assets, true), time: page.time };
          shown = content;
        } catch (error) {
          // What may be there later is asked for again; a mistake of the command line stays one.
          if (current === undefined && isMistake(error)) throw error;
          report(`the page could not be made: ${errorText(error)}`);
          isAsked = true;
        }
      }
      await pause(current === undefined ? Math.min(interval, 2000) : interval, undefined, {
        signal: stopped.signal,
      }).catch(() => undefined);
    }
  } finally {
    server.close();
    for (const connection of connections) connection.destroy();
    if (isSocket) rmSync(listen, { force: true });
  }
}

/** What is to be seen of a page but for when it was read: nobody is told of a newer one that says the same. */
const contentOf = ({ time: _time, status, ...page }: PageData): string =>
  JSON.stringify({
    ...page,
    status: status && {
      ...status,
      nodes: status.nodes.map(({ observedAt: _observedAt, ...node }) => node),
    },
  });

const isMistake = (error: unknown): boolean => {
  const code = exitCodeOf(error);
  return code === undefined || error instanceof ConfigurationError;
};

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_EVERY)
    throw new ConfigurationError(
      '--every',
      `must be a number of seconds from 1 to ${LONGEST_EVERY}, is "${text}"`,
    );
  return seconds;
}

async function tokenOf(file: string | undefined): Promise<string> {
  if (file === undefined) return randomBytes(24).toString('base64url');
  const token = (await atPath('--token-file', file, () => readFileSync(file, 'utf8'))).trim();
  if (token.length < SHORTEST_TOKEN || !TOKEN.test(token))
    throw new ConfigurationError(
      '--token-file',
      `${file} must have one word of ${SHORTEST_TOKEN} letters and more, of A-Z a-z 0-9 . _ ~ -`,
    );
  return token;
}

async function listening(server: ReturnType<typeof pageServer>, listen: string): Promise<void> {
  if (listen.includes('/')) return listenPrivately(server, listen, '--listen');
  const { host, port } = parseBindAddress(listen, '--listen');
  if (!isLoopback(host))
    throw new ConfigurationError(
      '--listen',
      `"${listen}" is not an address of loopback: what is served is not encrypted; listen on 127.0.0.1 and come by ssh -L or a proxy with TLS`,
    );
  server.listen(port, host);
  await once(server, 'listening');
}

const addressOf = ({ address, port, family }: AddressInfo, token: string): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/?token=${token}`;
