/** Verdicts and certificates for people. */
import type { Certificate, PacketSums, WitnessSums } from '../verify/certificate/certificate.ts';
import type { Headers } from '../verify/findings.ts';
import { headersText } from '../verify/headers-text.ts';
import type { Verdict } from '../verify/verify.ts';
import { print, printLines, report, table, tone } from './output.ts';

export function printCertificate(file: string, certificate: Certificate): void {
  const { node, time, verdict, pairs, sums, violations, undecided, notProved } = certificate;
  const kind = verdict === 'apart' ? 'good' : verdict === 'undecided' ? 'warning' : 'bad';
  print(`Certificate ${file} holds: node ${node} at ${time}: ${tone(verdict, kind)}`);
  print(
    `  ${sums.networks} networks, ${pairs.all} pairs: ${pairs.apart} apart, ${pairs.connected} may reach each other by an object`,
  );
  print(
    `  ${sums.corners} switches and routers in ${sums.parts} parts, ${sums.edges} edges with owners, ${sums.pods} ports of pods, ${sums.identities} numbers and addresses`,
  );
  printWitnesses(certificate.witnesses);
  for (const { check, where, what } of violations)
    print(`  ${tone(check, 'strong')}: ${where} ${what}`);
  for (const text of undecided) print(tone(`not read: ${text}`, 'warning'));
  for (const text of notProved) print(tone(`not proved: ${text}`, 'quiet'));
}

function printWitnesses(sums: WitnessSums | undefined): void {
  if (sums === undefined) return;
  print(`  ${witnessText(sums)}`);
  if (sums.real !== undefined) print(`  ${packetText(sums.real)}`);
}

const packetText = ({
  nonce,
  sent,
  nowhere,
  toPods,
  toHost,
  toTunnels,
  outside,
  differing,
}: PacketSums): string =>
  `packets (TCP sequence number ${nonce}): ${sent} of them sent from pods; ${toPods} come out at pods of this node, ${toHost} at the host, ${toTunnels} in tunnels, ${outside} outside, ${nowhere} nowhere; ` +
  `of ${differing} ofproto/trace tells something else`;

const witnessText = (sums: WitnessSums): string =>
  `witnesses (seed ${sums.seed}): ${sums.packets} packets by ${sums.logicalTraces} answers of ovn-trace and ${sums.physicalTraces} of ofproto/trace; ` +
  `${sums.apart} to networks that are apart, ${sums.dropped} of them come out nowhere; ${sums.joined} to networks that an object joins, ${sums.passed} of them go over`;

export function printVerdict(verdict: Verdict, witnesses: WitnessSums | undefined): void {
  const { node, networks, pairs, violations, edges, counts, notes, notProved, undecided } = verdict;
  const isOpen = undecided.length > 0;
  const result =
    violations.length > 0
      ? tone(`${violations.length} violations`, 'bad')
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
  printWitnesses(witnesses);
  if (edges.length > 0) {
    print('');
    printLines(table(['FROM', 'TO', 'WANTED BY', 'WAYS'], edgeRows(edges)));
  }
  printPassing(edges);
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

/** Of more edges than that `--json` tells what passes. */
const MOST_EDGES = 20;
const MOST_LINES = 4;

/** What passes on edges between pods. */
function printPassing(edges: Verdict['edges']): void {
  const known = edges.filter(({ passes, enters }) => passes !== undefined && enters !== undefined);
  if (known.length === 0) return;
  printLines('\nWhat ACLs let pass at pods of this node');
  for (const { from, to, passes = [], enters = [], unlisted = 0 } of known.slice(0, MOST_EDGES)) {
    printHeaders(`${from} to ${to}`, passes);
    printHeaders(`${to} to ${from}`, enters);
    if (unlisted > 0) print(`    and ${unlisted} more`);
  }
  if (known.length > MOST_EDGES)
    print(`  ${known.length - MOST_EDGES} more edges: --network or --json shows them`);
}

function printHeaders(way: string, all: readonly Headers[]): void {
  print(
    `  ${way}: ${all.length === 0 ? 'nothing' : all.slice(0, MOST_LINES).map(headersText).join('; ')}`,
  );
  if (all.length > MOST_LINES) print(`    and ${all.length - MOST_LINES} more: --json shows them`);
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
