/** `heddle bundle`: what a node's databases, flows, host and daemons say, in one file for somebody who was not there. It changes nothing. */
import { execFile, spawn } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { errorText } from '../api/error-text.ts';
import {
  events,
  ipamClaims,
  isOptionalKind,
  leases,
  networkConnects,
  resourceKinds,
} from '../api/kinds.ts';
import { endOfLog, OWN_COMMANDS, programsOf } from '../bundle/contents.ts';
import { hostNetwork } from '../bundle/host-network.ts';
import { gather, logsOf, type Gathered } from '../bundle/gather.ts';
import { objectWithoutSecrets } from '../bundle/secrets.ts';
import type { ResourceKind } from '../api/objects.ts';
import { plainValue } from '../control/control-protocol.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { VERSION } from '../process/version.ts';
import { within } from '../process/waiting.ts';
import type { Configuration } from '../settings/configuration.ts';
import { objectSource, openStore } from '../settings/object-store.ts';
import { environmentName } from '../settings/options.ts';
import { StoreError } from '../store/store.ts';
import { addSettings, configurationOf, needed, stopSignal } from './options.ts';
import { EXIT, print, printJson, report, tone } from './output.ts';

const run = promisify(execFile);
/** Where Debian's packages write logs, and the image's containers. */
const LOGS = { ovn: '/var/log/ovn', openvswitch: '/var/log/openvswitch' };
/** What no node decides by, and the account of its daemon may not read. */
const NOT_OF_NODES: readonly ResourceKind[] = [leases, events, ipamClaims, networkConnects];
/** Asked for the bridges of Open vSwitch; without an answer there is OVN's own. */
const INTEGRATION_BRIDGE = 'br-int';

const HELP = `
Run it on the node, in its network namespace, with --nb, --sb and --ovs. One program runs after the other.
Taken out: Secrets, what pods run (environment, arguments, volumes), annotations of others, NADs of other plugins, values whose name says that they are secret.
It does hold names, labels and addresses of all tenants: look before you give it away.
In a pod: kubectl exec … -- heddle bundle --output - > bundle.tar.gz
Exit code: 0 all of it is there, 1 something is missing, which is named.`;

interface BundleOptions {
  readonly output?: string;
  readonly json?: boolean;
}

export function register(program: Command): void {
  addSettings(
    program
      .command('bundle')
      .description(
        'gather what the databases, flows, host and daemons of --node say into one file, without secrets; changes nothing',
      )
      .option(
        '--output <FILE>',
        'where to: FILE.tar.gz, which must not be there, or - for standard output; by default heddle-bundle-NODE-TIME.tar.gz here',
      )
      .option('--json', 'what is in it, as JSON')
      .addHelpText('after', HELP),
    ['where', 'control', 'tls', 'cluster', 'behaviour'],
  ).action(async (options: BundleOptions, command: Command) => {
    if (options.output === '-' && options.json === true)
      throw new ConfigurationError('--json', 'and --output - both want standard output: give one');
    await bundle(needed(configurationOf(command), 'node', 'nb'), options);
  });
}

/** With the node and the Northbound database that it is about. */
type Placed = Configuration & { readonly node: string; readonly nb: string };

async function bundle(configuration: Placed, { output, json }: BundleOptions): Promise<void> {
  const { node } = configuration;
  const time = new Date();
  const stamp = time.toISOString().slice(0, 19).replaceAll(':', '-');
  const name = `heddle-bundle-${node.replaceAll(/[^\w.-]/g, '_')}-${stamp}`;
  const target = output === '-' ? undefined : resolve(output ?? `${name}.tar.gz`);
  if (target !== undefined) await assertFree(target);
  const signal = stopSignal();
  // Beside the file, on whose disk there has to be room anyway.
  const parent = await mkdtemp(
    join(target === undefined ? tmpdir() : dirname(target), '.heddle-bundle-'),
  );
  try {
    const folder = join(parent, name);
    await mkdir(folder, { mode: 0o700 });
    const gathered = await gatherAll(configuration, folder, signal);
    signal.throwIfAborted();
    const missing = gathered.flatMap((one) =>
      one.missing === undefined ? [] : [{ file: one.file, why: one.missing }],
    );
    const index = { node, time: time.toISOString(), heddle: VERSION, gathered, missing };
    await writeFile(join(folder, 'index.json'), `${JSON.stringify(index, undefined, 2)}\n`);
    if (target === undefined) await packToOutput(parent, name);
    else await packInto(target, parent, name);
    if (json === true) printJson({ file: target, ...index });
    else if (target !== undefined) print(`${target}: ${gathered.length} files of node ${node}`);
    for (const { file, why } of missing)
      report(`${tone('missing:', 'bad', process.stderr)} ${file}: ${why}`);
    process.exitCode = missing.length > 0 ? EXIT.problems : EXIT.success;
  } catch (error) {
    if (!signal.aborted) throw error;
    report('ended before all was gathered: nothing was written');
    process.exitCode = EXIT.unavailable;
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function assertFree(target: string): Promise<void> {
  const folder = dirname(target);
  if (!(await isThere(folder)))
    throw new ConfigurationError(
      '--output',
      `${target}: there is no folder ${folder}: make it, or name another file`,
    );
  if (await isThere(target))
    throw new ConfigurationError('--output', `${target} is there already: name another file`);
}

async function gatherAll(
  configuration: Placed,
  folder: string,
  signal: AbortSignal,
): Promise<readonly Gathered[]> {
  const gathered: Gathered[] = [];
  const keep = (one: Gathered | undefined): void => {
    if (one !== undefined) gathered.push(one);
  };
  const step = (what: string): void => {
    signal.throwIfAborted();
    report(tone(what, 'quiet', process.stderr));
  };
  const { nb, sb, ovs, tls } = configuration;
  const flags = [
    ...(tls.privateKey === undefined ? [] : [`--private-key=${tls.privateKey}`]),
    ...(tls.certificate === undefined ? [] : [`--certificate=${tls.certificate}`]),
    ...(tls.caCert === undefined ? [] : [`--ca-cert=${tls.caCert}`]),
  ];
  step('what heddle itself says');
  const environment = { ...process.env, ...asEnvironment(configuration) };
  const [program = 'heddle', script = ''] = process.argv;
  for (const words of OWN_COMMANDS)
    keep(
      await gather(
        {
          file: `heddle/${words.filter((word) => !word.startsWith('-')).join('-')}.json`,
          argv: [program, ...process.execArgv, script, ...words, '--json'],
        },
        // Below these it was asked for something that can't be answered.
        { folder, signal, environment, isDone: (code) => code < EXIT.usage },
      ),
    );
  step('objects');
  keep(await gatherObjects(configuration, folder));
  step('databases, flows and the host');
  const bridges = ovs === undefined ? [] : await bridgesOf(ovs, flags);
  for (const wanted of programsOf({ nb, sb, ovs, tls: flags, bridges })) {
    signal.throwIfAborted();
    keep(await gather(wanted, { folder, signal }));
  }
  if (ovs !== undefined) for (const one of await gatherHostNetwork(folder)) keep(one);
  step('logs of OVN and Open vSwitch');
  for (const [of, where] of Object.entries(LOGS))
    for (const path of await logsOf(where))
      keep(await gather(endOfLog(of, path), { folder, signal }));
  return gathered;
}

/** What was given as flags or in a file, as variables that any command takes, whichever flags it has. */
const asEnvironment = ({ given }: Configuration): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(given).map(([name, text]) => [environmentName(name), text]));

async function bridgesOf(ovs: string, tls: readonly string[]): Promise<readonly string[]> {
  try {
    const { stdout } = await run('ovs-vsctl', [`--db=${ovs}`, ...tls, '--timeout=10', 'list-br']);
    return stdout.split('\n').filter((name) => name !== '');
  } catch {
    // What ovs-vsctl show says of it is in the bundle.
    return [INTEGRATION_BRIDGE];
  }
}

/** Links, addresses, neighbours, rules and routes, each a file of JSON. */
async function gatherHostNetwork(folder: string): Promise<readonly Gathered[]> {
  const began = performance.now();
  const of = { command: 'netlink', seconds: 0, bytes: 0 };
  try {
    const gathered: Gathered[] = [];
    for (const [file, rows] of hostNetwork()) {
      const text = `${JSON.stringify(rows, plainValue, 1)}\n`;
      await mkdir(join(folder, dirname(file)), { recursive: true });
      await writeFile(join(folder, file), text);
      const seconds = Math.round(performance.now() - began) / 1000;
      gathered.push({ ...of, file, seconds, bytes: Buffer.byteLength(text) });
    }
    return gathered;
  } catch (error) {
    return [{ ...of, file: 'host/*.json', missing: errorText(error) }];
  }
}

/** A file for each kind, in the form of a directory of manifests. */
async function gatherObjects(configuration: Placed, folder: string): Promise<Gathered> {
  const began = performance.now();
  const missing: string[] = [];
  let bytes = 0;
  await mkdir(join(folder, 'objects'));
  try {
    await using opened = await openStore(objectSource(configuration, process.env), {
      dryRun: true,
    });
    for (const kind of resourceKinds) {
      if (NOT_OF_NODES.includes(kind)) continue;
      try {
        const objects = await within(configuration.timeout, (signal) =>
          opened.objects.list(kind, signal),
        );
        if (objects.length === 0) continue;
        const text = objects.map((one) => stringify(objectWithoutSecrets(one))).join('---\n');
        bytes += Buffer.byteLength(text);
        await writeFile(join(folder, 'objects', `${kind.plural}.yaml`), text);
      } catch (error) {
        const isNotServed = error instanceof StoreError && error.code === 'not-installed';
        if (!isNotServed || !isOptionalKind(kind))
          missing.push(`${kind.kind}: ${errorText(error)}`);
      }
    }
  } catch (error) {
    missing.push(errorText(error));
  }
  return {
    file: 'objects',
    command: 'list of each kind that heddle reads',
    seconds: Math.round(performance.now() - began) / 1000,
    bytes,
    ...(missing.length === 0 ? {} : { missing: missing.join('; ') }),
  };
}

/** Nobody finds half a file under its name. */
async function packInto(target: string, parent: string, name: string): Promise<void> {
  const half = join(parent, 'half.tar.gz');
  await run('tar', ['-C', parent, '-czf', half, name]);
  await chmod(half, 0o600);
  await rename(half, target);
}

async function packToOutput(parent: string, name: string): Promise<void> {
  const tar = spawn('tar', ['-C', parent, '-cz', name], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await new Promise<void>((done, fail) => {
    tar.on('error', fail);
    tar.on('close', (code) => {
      if (code === 0) done();
      else fail(new Error(`tar ended with exit code ${code}`));
    });
  });
}
