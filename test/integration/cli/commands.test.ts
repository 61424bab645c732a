/** Other commands, and what is wrong with a command line. */
import { execFileSync } from 'node:child_process';
import { readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Gathered } from '../../../src/bundle/gather.ts';
import { program } from '../../../src/lab/paths.ts';
import { heddle, Installation, type CommandResult } from '../../support/run/heddle.ts';
import { WORKED_EXAMPLE, commandZone, ended } from '../../support/run/command-zone.ts';

describe('heddle bundle', () => {
  test('is one file with what was said, names what is missing, and writes over nothing', async () => {
    await using bed = await commandZone();
    const SECRET = 'hunter2-hunter2';
    const spec = {
      nodeName: 'ovn-worker',
      containers: [{ name: 'main', image: 'box', env: [{ name: 'KEY', value: SECRET }] }],
    };
    const metadata = { namespace: 'blue', name: 'keeps-a-secret' };
    bed.heddle.write(
      'pod.json.yaml',
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }),
    );
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    const file = join(bed.heddle.folder, 'one.tar.gz');
    const bundle = (): Promise<CommandResult> =>
      bed.heddle.run('bundle', '--json', '--output', file);
    const first = await bundle();
    const { gathered, missing } = JSON.parse(first.stdout) as {
      readonly gathered: readonly Gathered[];
      readonly missing: readonly { readonly file: string; readonly why: string }[];
    };
    // Which of OVN's programs are installed here is not ours to say; each that is not is named.
    ended(first, missing.length > 0 ? 1 : 0);
    for (const { file: name, why } of missing)
      expect(first.stderr).toContain(`missing: ${name}: ${why}`);
    expect(gathered.map((one) => one.file)).toEqual(
      expect.arrayContaining([
        'heddle/status.json',
        'heddle/plan.json',
        'databases/northbound.json',
      ]),
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const unpacked = execFileSync('tar', ['-xzOf', file], { encoding: 'utf8' });
    expect(unpacked).toContain('keeps-a-secret');
    expect(unpacked).not.toContain(SECRET);
    const again = await bundle();
    ended(again, 64);
    expect(again.stderr).toContain(`--output: ${file} is there already: name another file`);
    const nowhere = join(bed.heddle.folder, 'none', 'one.tar.gz');
    const lost = await bed.heddle.run('bundle', '--output', nowhere);
    ended(lost, 64);
    expect(lost.stderr).toContain(`--output: ${nowhere}: there is no folder `);
    expect(readdirSync(bed.heddle.folder).filter((name) => name.startsWith('.heddle'))).toEqual([]);
  });
});

describe('heddle completion', () => {
  test('bash completes commands and flags by its script, and leaves paths to itself', async () => {
    const { stdout: script, code, stderr } = await heddle('completion', 'bash');
    expect(code, stderr).toBe(0);
    // Of the package bash-completion the script takes this function alone.
    const ask = `${script}
      _get_comp_words_by_ref() { words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur="\${words[cword]}"; prev="\${words[cword-1]}"; }
      compopt() { :; }
      heddle() { ${process.execPath} ${program} "$@"; }
      COMP_WORDS=(heddle "$@"); COMP_CWORD=$#; __heddle_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const completed = (...typed: readonly string[]): string[] =>
      execFileSync('bash', ['-c', ask, 'bash', ...typed], { encoding: 'utf8' })
        .trim()
        .split('\n');
    expect(completed('valid')).toEqual(['validate']);
    expect(completed('graph', '--format', 's')).toEqual(['svg']);
    expect(completed('validate', '')).toEqual(['']);
  });
});

test.each([
  [
    'show blue_bleu',
    /no network, connection or pod is called "blue_bleu"; did you mean "blue_blue"\?/,
  ],
  ['show blue/pod2x', /did you mean "blue\/pod\d"\?/],
  ['show nothing-like-it', /; networks: .*blue_blue.*; connections: none/],
  ['show egressip some', /no EgressIP is called "some"; there are: none/],
  ['graph blue_bleu --node ovn-worker', /is called "blue_bleu"; did you mean "blue_blue"\?/],
])('%s: which name may have been meant', async (line, text) => {
  using bed = new Installation(['--cluster-subnets=10.244.0.0/16/24']);
  bed.copy(WORKED_EXAMPLE);
  const [command = '', ...words] = line.split(' ');
  const { code, stderr } = await bed.run(command, ...words);
  expect(stderr).toMatch(text);
  expect(code).not.toBe(0);
});

test('a file of settings has the sockets of nodes: with --node alone its daemon answers, or its database', async () => {
  await using bed = await commandZone();
  const { manifests, state, socket, folder } = bed.heddle;
  const config = join(folder, 'heddle.yaml');
  const settings = { manifests, state, nodes: { 'ovn-worker': { nb: bed.server.remote, socket } } };
  writeFileSync(config, JSON.stringify(settings));
  const ask = (...more: string[]): Promise<CommandResult> =>
    heddle('diff', '--config', config, ...more);
  const direct = await ask('--node', 'ovn-worker', '--cluster-subnets', '10.244.0.0/16/24');
  expect(direct.stderr).toMatch(/not from a daemon: no daemon answers on .*control\.sock/);
  expect(direct.stdout).toMatch(/ovn-worker/);
  {
    await using _daemon = bed.heddle.daemon();
    const answered = /answered by the daemon of node ovn-worker/;
    await expect
      .poll(async () => (await ask('--node', 'ovn-worker')).stderr, { timeout: 30_000 })
      .toMatch(answered);
  }
  const [nameless, unknown] = [await ask(), await ask('--node', 'ovn-wroker')];
  ended(nameless, 64);
  expect(nameless.stderr).toMatch(/--node: is not set: .*; its nodes: ovn-worker$/m);
  ended(unknown, 64);
  expect(unknown.stderr).toMatch(
    /--nb: is not set: .*; it has no node "ovn-wroker", but: ovn-worker$/m,
  );
});

describe('a database that is not there', () => {
  test.each([
    ['plan', '--nb', 'unix:/no.sock', /no such file or directory; start its server, or correct/],
    ['apply', '--nb', 'unix:/no.sock,unix:/nor.sock', /no such file or directory; start its/],
    ['cleanup', '--ovs', 'unix:/no.sock', /Open_vSwitch .* can't be reached: .*; start its server/],
  ])('%s %s %s ends at once, whatever --timeout is', async (command, flag, remote, text) => {
    using bed = new Installation([`${flag}=${remote}`, '--timeout=3600']);
    bed.copy(WORKED_EXAMPLE);
    const node = command === 'cleanup' ? [] : ['--node=ovn-worker'];
    const found = await bed.run(command, ...node);
    expect([found.code, found.stderr]).toEqual([69, expect.stringMatching(text)]);
  });

  test('apply goes on where its server comes back', async () => {
    await using bed = await commandZone();
    const socket = bed.server.remote.replace('unix:', '');
    renameSync(socket, `${socket}.away`);
    writeFileSync(socket, ''); // nobody listens there, as after a crash
    const applied = bed.heddle.run('apply', '--no-wait');
    await sleep(1500);
    renameSync(`${socket}.away`, socket);
    ended(await applied, 0);
  });
});

describe('what is wrong with a command line', () => {
  const AT = '--manifests DIR --state DIR/state --node n1 --socket none';
  test.each([
    ['status --manifests DIR --state DIR/notes.txt', 64, /--state: .*notes.txt is not a directory/],
    ['status --manifests DIR/nowhere --state DIR/state', 64, /--manifests: there is no file or/],
    [
      'status --config DIR/torn',
      64,
      /torn: not valid YAML: Flow map must .* line \d+, column \d+$/m,
    ],
    [`status ${AT}`, 1, /no node is called "n1"; nodes: none/],
    [`plan ${AT} --nb foo`, 64, /--nb: "foo": it has no connection method; expected unix:PATH/],
    [
      `plan ${AT} --nb unix:/no.sock --timeout 1`,
      69,
      /heddle: OVN_Northbound \(--nb unix:\/no.sock\) can't be reached: connect \/no.sock: no such/,
    ],
    [`plan ${AT} --cluster-subnets foo`, 64, /--cluster-subnets: "foo" is not a subnet such as/],
    [
      'render --manifests DIR --node n',
      64,
      /--node n: no Node of this name in .*; add it or correct/,
    ],
    ['validate DIR/nowhere DIR', 64, /nowhere can't be read: no such file or directory/],
    ['lab shell --name nope', 64, /there is no lab 'nope'/],
    ['lab up --name ../x', 64, /a lab can't be named/],
  ])('%s', async (line, code, text) => {
    using bed = new Installation();
    writeFileSync(join(bed.folder, 'notes.txt'), '');
    writeFileSync(join(bed.folder, 'torn'), '{');
    const found = await heddle(...line.replaceAll('DIR', bed.folder).split(' '));
    expect([found.code, found.stderr]).toEqual([code, expect.stringMatching(text)]);
    expect(found.stderr).not.toMatch(/\bE[A-Z]{4,}\b|\n {4}at /);
  });
});
