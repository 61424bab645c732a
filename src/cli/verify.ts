/** `heddle verify`: a proof that the networks of a node are apart, but for what objects want. It changes nothing. */
import type { Command } from 'commander';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../api/error-text.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { VERSION } from '../process/version.ts';
import { within } from '../process/waiting.ts';
import type { Certificate } from '../verify/certificate/certificate.ts';
import { certificateOf } from '../verify/certificate/certify.ts';
import type { Violation } from '../verify/findings.ts';
import { recheck } from '../verify/recheck/recheck.ts';
import type { Snapshot } from '../verify/snapshot.ts';
import { prove, type Proof, type Verdict } from '../verify/verify.ts';
import { addSettings, configurationOf, needed } from './options.ts';
import { EXIT, print, printJson, printLines, report, table, tone } from './output.ts';
import { snapshotOf, type Placed } from './proof-snapshot.ts';

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
        'prove that the networks of --node are apart, but for what objects want, from the databases and the host as they are; changes nothing',
      )
      .option('--json', 'the verdict as JSON, with every edge and finding')
      .option('--network <NAME>', 'show what concerns this network alone (OVN name, or default)')
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
    else if (options.certify === undefined && options.network === undefined)
      await checkCertificate(options.check, options.json === true);
    else throw new ConfigurationError('--check', 'goes neither with --certify nor with --network');
  });
}

interface VerifyOptions {
  readonly json?: boolean;
  readonly network?: string;
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
  const { last, lasting } = await readings(configuration);
  if (certificate !== undefined) await writeCertificate(certificate, last, lasting);
  const verdict = { ...last.proof.verdict, violations: lasting };
  const shown = network === undefined ? verdict : ofNetwork(verdict, network);
  if (options.json === true) printJson(shown);
  else printVerdict(shown);
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
}

/** Reads until nothing is wrong, or the same is wrong again and again; the last reading, and what was wrong in the one before, too. */
async function readings(
  configuration: Placed,
): Promise<{ readonly last: Reading; readonly lasting: readonly Violation[] }> {
  const read = (): Promise<Reading> =>
    within(configuration.timeout, async (signal) => {
      const snapshot = await snapshotOf(configuration, signal);
      return { snapshot, proof: prove(snapshot), time: new Date() };
    });
  let last = await read();
  let lasting = last.proof.verdict.violations;
  for (let count = 1; last.proof.verdict.violations.length > 0; count += 1) {
    const isSettled = lasting.length === last.proof.verdict.violations.length;
    if (count >= MOST_READINGS || (count >= ENOUGH_READINGS && isSettled)) break;
    await sleep(AGAIN_AFTER_MS);
    const before = new Set(last.proof.verdict.violations.map(identityOf));
    last = await read();
    lasting = last.proof.verdict.violations.filter((one) => before.has(identityOf(one)));
  }
  return { last, lasting };
}

/** Written as a whole or not at all. */
async function writeCertificate(
  file: string,
  { snapshot, proof, time }: Reading,
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
  });
  const [wrong] = recheck(certificate);
  if (wrong !== undefined)
    throw new Error(`the certificate would not hold, which is a fault of Heddle: ${wrong}`);
  const unfinished = `${file}.new`;
  try {
    await writeFile(unfinished, `${JSON.stringify(certificate, undefined, 1)}\n`);
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Says whether a certificate holds, and what it says. */
async function checkCertificate(file: string, isJson: boolean): Promise<void> {
  const parsed = parsedFile(await readFile(file, 'utf8'));
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

function printCertificate(file: string, certificate: Certificate): void {
  const { node, time, verdict, pairs, sums, violations, undecided, notProved } = certificate;
  const kind = verdict === 'apart' ? 'good' : verdict === 'undecided' ? 'warning' : 'bad';
  print(`Certificate ${file} holds: node ${node} at ${time}: ${tone(verdict, kind)}`);
  print(
    `  ${sums.networks} networks, ${pairs.all} pairs: ${pairs.apart} apart, ${pairs.connected} may reach each other by an object`,
  );
  print(
    `  ${sums.corners} switches and routers in ${sums.parts} parts, ${sums.edges} edges with owners, ${sums.pods} ports of pods, ${sums.identities} numbers and addresses`,
  );
  for (const { check, where, what } of violations)
    print(`  ${tone(check, 'strong')}: ${where} ${what}`);
  for (const text of undecided) print(tone(`not read: ${text}`, 'warning'));
  for (const text of notProved) print(tone(`not proved: ${text}`, 'quiet'));
}

const identityOf = ({ check, where, what }: Violation): string => `${check} ${where} ${what}`;

const ofNetwork = (verdict: Verdict, name: string): Verdict => ({
  ...verdict,
  networks: verdict.networks.filter((network) => network.name === name),
  violations: verdict.violations.filter(
    ({ networks }) => networks.length === 0 || networks.includes(name),
  ),
  edges: verdict.edges.filter(({ from, to }) => from === name || to === name),
});

function printVerdict(verdict: Verdict): void {
  const { node, networks, pairs, violations, edges, counts, notes, notProved, undecided } = verdict;
  const isOpen = undecided.length > 0;
  const result =
    violations.length > 0
      ? tone(`${violations.length} ways or numbers that no object wants`, 'bad')
      : isOpen
        ? tone('not decided', 'warning')
        : tone('apart', 'good');
  print(`Node ${node}: ${networks.length} networks, ${pairs.all} pairs: ${result}`);
  print(`  ${pairs.apart} apart, ${pairs.connected} may reach each other by an object`);
  print(
    `  looked at: ${Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')}`,
  );
  if (edges.length > 0) {
    print('');
    printLines(table(['FROM', 'TO', 'WANTED BY', 'WAYS'], edgeRows(edges)));
  }
  if (violations.length > 0) printLines(`\n${tone('Violations', 'bad')}`);
  for (const { check, where, what, object, networks: concerned } of violations) {
    print(`  ${tone(check, 'strong')}: ${where}`);
    print(`    ${what}`);
    print(
      `    concerns ${object}${concerned.length === 0 ? '' : `; networks ${concerned.join(', ')}`}`,
    );
  }
  if (notes.length > 0) printLines('\nNotes');
  for (const note of notes) print(`  ${note}`);
  print('');
  for (const text of notProved) print(tone(`not proved: ${text}`, 'quiet'));
  for (const text of undecided) report(`${tone('not read:', 'warning', process.stderr)} ${text}`);
}

/** Ways of one kind between the same two, by how many rows. */
function edgeRows(edges: Verdict['edges']): string[][] {
  const rows = Map.groupBy(
    edges,
    ({ from, to, object, kind }) => `${from} ${to} ${object} ${kind}`,
  );
  return [...rows.values()].map((all) => {
    const [{ from, to, object, where } = { from: '', to: '', object: '', where: '' }] = all;
    return [from, to, object, all.length === 1 ? where : `${all.length}, as ${where}`];
  });
}
