/** `heddle verify`: a proof that the networks of a node are apart, but for what objects want. It changes nothing. */
import type { Command } from 'commander';
import { randomInt } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../api/error-text.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { VERSION } from '../process/version.ts';
import { within } from '../process/waiting.ts';
import type { Certificate, WitnessSums } from '../verify/certificate/certificate.ts';
import { certificateOf } from '../verify/certificate/certify.ts';
import { violationText, type Violation } from '../verify/findings.ts';
import { tracersOf } from '../verify/read/tracers.ts';
import { openWire } from '../verify/read/wire.ts';
import { recheck } from '../verify/recheck/recheck.ts';
import type { Snapshot } from '../verify/snapshot.ts';
import { prove, withFindings, type Proof, type Verdict } from '../verify/verify.ts';
import { askWitnesses, type Tracers } from '../verify/witnesses/witnesses.ts';
import { atPath } from './named-path.ts';
import { addSettings, configurationOf, needed } from './options.ts';
import { EXIT, printJson, report, tone } from './output.ts';
import { snapshotOf, type Placed } from './proof-snapshot.ts';
import { printCertificate, printVerdict } from './proof-text.ts';

/** What changes while it is read looks wrong once, and not again. */
const AGAIN_AFTER_MS = 1000;
const ENOUGH_READINGS = 3;
/** On a node where something new is half written at each look. */
const MOST_READINGS = 6;

export function register(program: Command): void {
  addSettings(
    program
      .command('verify')
      .description(
        'prove that the networks of --node are apart, but for what objects want, from the databases and the host as they are; changes nothing, and sends nothing without --packets',
      )
      .option('--json', 'the verdict as JSON, with every edge and finding')
      .option('--network <NAME>', 'show what concerns this network alone (OVN name, or default)')
      .option(
        '--witnesses <N>',
        'ask ovn-trace, and ofproto/trace of Open vSwitch, of N packets from pods of this node to addresses of all networks: what they say has to agree',
      )
      .option(
        '--seed <NUMBER>',
        'which packets; by default others each time, and the number is shown',
      )
      .option(
        '--packets',
        'send them as well: a SYN of TCP each from the interface of its pod, 20 a second, and see where they come out on this node; takes root',
      )
      .option(
        '--certify <FILE>',
        'write the verdict of all networks and what it rests on to FILE, for --check, here or elsewhere',
      )
      .option(
        '--check <FILE>',
        'prove nothing, but check a certificate with nothing else than itself; needs no node and no database',
      )
      .addHelpText(
        'after',
        '\nRun it on the node, in its network namespace, with --nb, --sb and --ovs. No daemon is asked: the proof shares nothing with what builds rows.' +
          '\nExit code: 0 apart, 1 something leads from one network to another and no object wants it, 2 could not be decided; with --check those of the certificate, and 65 for one that does not hold.',
      ),
    ['where', 'tls', 'cluster', 'behaviour'],
  ).action(async (options: VerifyOptions, command: Command) => {
    if (options.check === undefined)
      await proveNode(needed(configurationOf(command), 'node', 'nb'), options);
    else if (
      [options.certify, options.network, options.witnesses, options.seed, options.packets].every(
        (one) => one === undefined,
      )
    )
      await checkCertificate(options.check, options.json === true);
    else
      throw new ConfigurationError(
        '--check',
        'goes with none of --certify, --network, --witnesses, --packets and --seed',
      );
  });
}

interface VerifyOptions {
  readonly json?: boolean;
  readonly network?: string;
  readonly witnesses?: string;
  readonly seed?: string;
  readonly packets?: boolean;
  readonly certify?: string;
  readonly check?: string;
}

const CODES = {
  apart: EXIT.success,
  'not apart': EXIT.problems,
  undecided: EXIT.changes,
} as const satisfies Record<Certificate['verdict'], number>;

async function proveNode(configuration: Placed, options: VerifyOptions): Promise<void> {
  const { certify: certificate, network } = options;
  const asked = askedWitnesses(options, configuration);
  const { last, lasting } = await readings(configuration, asked);
  if (certificate !== undefined) await writeCertificate(certificate, last, lasting);
  const { witnesses } = last;
  const verdict = {
    ...last.proof.verdict,
    violations: lasting,
    ...(witnesses === undefined ? {} : { witnesses }),
  };
  const shown = network === undefined ? verdict : ofNetwork(verdict, network);
  if (options.json === true) printJson(shown);
  else printVerdict(shown, witnesses);
  if (certificate !== undefined) report(`certificate: ${certificate}`);
  const { violations, undecided } = shown;
  process.exitCode =
    CODES[violations.length > 0 ? 'not apart' : undecided.length > 0 ? 'undecided' : 'apart'];
}

interface Reading {
  readonly snapshot: Snapshot;
  readonly proof: Proof;
  /** When all of it was there. */
  readonly time: Date;
  readonly witnesses?: WitnessSums;
}

interface Asked {
  readonly count: number;
  readonly seed: number;
  readonly tracers: Tracers;
  /** Of the packets that are sent, the same at each reading; absent where none are. */
  readonly nonce?: number;
}

const MOST_WITNESSES = 100_000;
const SEEDS = 2 ** 32;
const NONCES = 2 ** 32;

/** Throws ConfigurationError for numbers that are none. */
function askedWitnesses(options: VerifyOptions, configuration: Placed): Asked | undefined {
  const { sb, tls, ovs } = configuration;
  const number = (flag: string, given: string, most: number): number => {
    const value = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
    if (value <= most) return value;
    throw new ConfigurationError(flag, `${JSON.stringify(given)} is no number from 0 to ${most}`);
  };
  if (options.witnesses === undefined) {
    if (options.seed !== undefined)
      throw new ConfigurationError('--seed', 'is for --witnesses, which is missing');
    if (options.packets === true)
      throw new ConfigurationError('--packets', 'is for --witnesses, which is missing');
    return undefined;
  }
  const count = number('--witnesses', options.witnesses, MOST_WITNESSES);
  const seed =
    options.seed === undefined ? randomInt(SEEDS) : number('--seed', options.seed, SEEDS - 1);
  if (sb === undefined)
    throw new ConfigurationError('--witnesses', 'needs --sb: ovn-trace reads Southbound');
  if (options.packets === true && ovs === undefined)
    throw new ConfigurationError('--packets', 'needs --ovs: it says which interface a pod has');
  return {
    count,
    seed,
    tracers: tracersOf({ southbound: sb, tls, hasOpenVswitch: ovs !== undefined }),
    ...(options.packets === true ? { nonce: randomInt(NONCES) } : {}),
  };
}

/** Parts of the whole after which progress is reported. */
const STEPS = 10;

async function withWitnesses(reading: Reading, asked: Asked): Promise<Reading> {
  const { snapshot, proof } = reading;
  const { nonce, ...witnesses } = asked;
  const progress =
    (what: string) =>
    (done: number, of: number): void => {
      if (done % Math.ceil(of / STEPS) === 0) report(`${what}: ${done} of ${of}`);
    };
  const { sums, ...found } = await askWitnesses(snapshot, proof, {
    ...witnesses,
    onDone: progress('witnesses'),
    ...(nonce === undefined
      ? {}
      : { packets: { nonce, open: openWire, onDone: progress('packets') } }),
  });
  return { ...reading, witnesses: sums, proof: withFindings(proof, found) };
}

/** Reads until nothing is wrong, or the same is wrong again and again; the last reading, and what was wrong in the one before, too. */
async function readings(
  configuration: Placed,
  asked: Asked | undefined,
): Promise<{ readonly last: Reading; readonly lasting: readonly Violation[] }> {
  const read = async (): Promise<Reading> => {
    const reading = await within(configuration.timeout, async (signal) => {
      const snapshot = await snapshotOf(configuration, signal);
      return { snapshot, proof: prove(snapshot), time: new Date() };
    });
    return asked === undefined ? reading : await withWitnesses(reading, asked);
  };
  let last = await read();
  let lasting = last.proof.verdict.violations;
  for (let count = 1; last.proof.verdict.violations.length > 0; count += 1) {
    const isSettled = lasting.length === last.proof.verdict.violations.length;
    if (count >= MOST_READINGS || (count >= ENOUGH_READINGS && isSettled)) break;
    await sleep(AGAIN_AFTER_MS);
    const before = new Set(last.proof.verdict.violations.map(violationText));
    last = await read();
    lasting = last.proof.verdict.violations.filter((one) => before.has(violationText(one)));
  }
  return { last, lasting };
}

/** Written as a whole or not at all. */
async function writeCertificate(
  file: string,
  { snapshot, proof, time, witnesses }: Reading,
  lasting: readonly Violation[],
): Promise<void> {
  const { violations } = proof.verdict;
  if (violations.length !== lasting.length)
    throw new ConfigurationError(
      '--certify',
      `can't be made: at each of ${MOST_READINGS} readings something else looked wrong (now ${violations.length - lasting.length}), so the node is being changed: try again`,
    );
  const certificate = certificateOf(snapshot, proof, {
    time: time.toISOString(),
    heddle: VERSION,
    ...(witnesses === undefined ? {} : { witnesses }),
  });
  const [wrong] = recheck(certificate);
  if (wrong !== undefined)
    throw new Error(`the certificate would not hold, which is a fault of Heddle: ${wrong}`);
  const unfinished = `${file}.new`;
  try {
    await atPath('--certify', file, async () => {
      await writeFile(unfinished, `${JSON.stringify(certificate, undefined, 1)}\n`);
      await rename(unfinished, file);
    });
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Says whether a certificate holds, and what it says. */
async function checkCertificate(file: string, isJson: boolean): Promise<void> {
  const parsed = parsedFile(await atPath('--check', file, () => readFile(file, 'utf8')));
  const wrong = parsed.wrong ?? recheck(parsed.value);
  const certificate = wrong.length === 0 ? (parsed.value as Certificate) : undefined;
  process.exitCode = certificate === undefined ? EXIT.data : CODES[certificate.verdict];
  if (isJson)
    printJson({ file, holds: certificate !== undefined, wrong, ...summaryOf(certificate) });
  else if (certificate === undefined) {
    report(`${tone('heddle:', 'bad', process.stderr)} certificate ${file} does not hold`);
    for (const one of wrong) report(`  ${one}`);
  } else printCertificate(file, certificate);
}

function parsedFile(text: string): {
  readonly value?: unknown;
  readonly wrong?: readonly string[];
} {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { wrong: [`the file (${text.length} characters) is no JSON: ${errorText(error)}`] };
  }
}

function summaryOf(certificate: Certificate | undefined): Partial<Certificate> {
  if (certificate === undefined) return {};
  const { time, node, verdict, pairs, sums, versions, databases, digest } = certificate;
  return { time, node, verdict, pairs, sums, versions, databases, digest };
}

const ofNetwork = <T extends Verdict>(verdict: T, name: string): T => ({
  ...verdict,
  networks: verdict.networks.filter((network) => network.name === name),
  violations: verdict.violations.filter(
    ({ networks }) => networks.length === 0 || networks.includes(name),
  ),
  edges: verdict.edges.filter(({ from, to }) => from === name || to === name),
});
