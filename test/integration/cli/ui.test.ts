/** `heddle ui`: the page of a cluster in a browser, made anew. */
import { once } from 'node:events';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkout } from '../../../src/lab/paths.ts';
import { Browser, chromium } from '../../support/run/browser.ts';
import { command, heddle, Installation, type RunningCommand } from '../../support/run/heddle.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 200 };
const TWO_TENANTS = join(checkout, 'examples/two-tenants');
const RED = `
apiVersion: v1
kind: Namespace
metadata: {name: red, labels: {k8s.ovn.org/primary-user-defined-network: ''}}
`;
const RED_NETWORK = `
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: net, namespace: red}
spec: {topology: Layer3, layer3: {role: Primary, subnets: [{cidr: 10.20.0.0/16}]}}
`;

const ui = (manifests: string, ...args: readonly string[]): RunningCommand =>
  command('ui', '--manifests', manifests, '--invent-nodes', '--every=1', ...args);

/** What it printed: the address with the token. */
async function addressOf(running: RunningCommand): Promise<URL> {
  await expect.poll(() => running.printed, SOON).toMatch(/^http:\S+\n$/);
  return new URL(running.printed.trim());
}

test('serves what there is, also what comes later, to whoever has the token, until it is ended', async () => {
  using installation = new Installation();
  installation.copy(TWO_TENANTS);
  await using running = ui(installation.manifests, '--listen=127.0.0.1:0');
  const address = await addressOf(running);
  const token = address.searchParams.get('token') ?? '';
  const ask = (path: string): Promise<Response> =>
    fetch(new URL(path, address), { headers: { authorization: `Bearer ${token}` } });
  expect((await fetch(new URL('/', address))).status).toBe(401);
  const text = async (): Promise<string> => (await ask('/')).text();
  await expect.poll(text, SOON).toContain('blue_l3net');
  expect(await text()).not.toContain('red_net');
  const before = await (await ask('/time')).text();
  installation.write('red.yaml', `${RED}---${RED_NETWORK}`);
  await expect.poll(text, SOON).toContain('red_net');
  expect((await (await ask('/time')).text()) > before).toBe(true);
  expect(running.log).toBe('read from objects and databases, not from a daemon\n');
  expect(await running.end('SIGTERM')).toBe(0);
});

test('on a socket its user alone gets the page, without a token', async () => {
  const socket = join(ownFolder('heddle-ui'), 'ui.sock');
  await using running = ui(TWO_TENANTS, `--listen=${socket}`);
  const ask = async (): Promise<string> => {
    if (!existsSync(socket)) return '';
    const asked = request({ socketPath: socket, path: '/', agent: false }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    let text = '';
    for await (const part of response) text += String(part);
    return text;
  };
  await expect.poll(ask, SOON).toContain('green_l3net');
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  expect(running.printed).toBe(`${socket}\n`);
  expect(await running.end('SIGINT')).toBe(0);
  expect(existsSync(socket)).toBe(false);
});

test('what can not be read any more is told, and the page stays until it can be', async () => {
  using installation = new Installation();
  installation.copy(TWO_TENANTS);
  await using running = ui(installation.manifests, '--listen=127.0.0.1:0');
  const address = await addressOf(running);
  const headers = { authorization: `Bearer ${address.searchParams.get('token') ?? ''}` };
  const text = async (): Promise<string> =>
    (await fetch(new URL('/', address), { headers })).text();
  await expect.poll(text, SOON).toContain('blue_l3net');
  rmSync(installation.manifests, { recursive: true });
  await expect
    .poll(async () => {
      await text();
      return running.log;
    }, SOON)
    .toContain('the page could not be made: ');
  expect(await text()).toContain('blue_l3net');
});

describe('is not started', () => {
  const short = join(ownFolder('heddle-ui'), 'token');
  writeFileSync(short, 'short\n');
  test.each([
    ['beyond loopback', ['--listen=0.0.0.0:0'], 'not an address of loopback'],
    ['where nobody can listen', ['--listen=nowhere'], 'is not HOST:PORT'],
    ['for a token that is guessed', [`--token-file=${short}`], '16 letters'],
    ['without a token', ['--token-file=/no/token'], '/no/token'],
    ['never to be made anew', ['--every=0'], '--every'],
    ['with a certificate that is none', ['--listen=127.0.0.1:0', `--proof=${short}`], 'is no JSON'],
  ])('%s', async (_, args, why) => {
    const { code, stderr } = await heddle(
      'ui',
      '--manifests',
      TWO_TENANTS,
      '--invent-nodes',
      ...args,
    );
    expect(stderr).toContain(why);
    expect(code).toBe(64);
  });
});

describe.skipIf(chromium === undefined)('in a browser', () => {
  test('a page that is open says that there is a newer one, and shows it', async () => {
    using installation = new Installation();
    installation.copy(TWO_TENANTS);
    installation.write('red.yaml', RED);
    await using running = ui(installation.manifests, '--listen=127.0.0.1:0');
    const address = await addressOf(running);
    const { host } = address;
    await expect
      .poll(async () => {
        const headers = { authorization: `Bearer ${address.searchParams.get('token') ?? ''}` };
        return (await fetch(`http://${host}/`, { headers })).status;
      }, SOON)
      .toBe(200);
    await using browser = await Browser.open(address.href);
    // The token is in no address any more.
    expect(await browser.value('location.href')).toBe(`http://${host}/`);
    installation.write('network.yaml', RED_NETWORK);
    await browser.until(`document.querySelector('#newer') !== null`, 60_000);
    await browser.click('#newer');
    await browser.until(`document.body.innerText.includes('red_net')`, 60_000);
    expect(browser.complaints).toEqual([]);
  }, 180_000);
});
