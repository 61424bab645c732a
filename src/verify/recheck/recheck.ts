/**
 * Checks a certificate with nothing but itself: that its graph falls into parts of one owner each without the edges that it lists, that those have owners who
 * want them, that no number is of two, and that its sums and verdict follow. It takes no code of the proof, and asks no database.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../api/canonical-json.ts';
import { isPlainObject } from '../../api/plain-object.ts';
import { formatFieldError, formatValue } from '../../api/validation/field-errors.ts';
import { checkStructure } from '../../api/validation/structure.ts';
import type { Certificate } from '../certificate/certificate.ts';
import { CERTIFICATE_FORM } from './form.ts';
import type { Complain } from './complaint.ts';
import { Graph } from './graph.ts';
import { checkOwners } from './owners.ts';

/** Of a file that was torn or changed nearly everything is wrong: the first ones tell. */
const MOST = 20;

/** What is wrong with a certificate, each with field and value; nothing when it stands. */
export function recheck(value: unknown): readonly string[] {
  const unfit = checkStructure(CERTIFICATE_FORM, value).map(formatFieldError);
  if (unfit.length > 0 || !isCertificate(value)) return unfit.slice(0, MOST);
  const wrong: string[] = [];
  const complain: Complain = (field, found, why) => {
    if (wrong.length < MOST) wrong.push(`${field}: ${formatValue(found)}: ${why}`);
  };
  checkDigest(value, complain);
  const graph = new Graph(value, complain);
  checkOwners(value, graph, complain);
  checkPods(value, graph, complain);
  checkIdentities(value, complain);
  checkSums(value, graph.parts(), complain);
  checkWitnesses(value, complain);
  checkVerdict(value, complain);
  return wrong;
}

const isCertificate = (value: unknown): value is Certificate => isPlainObject(value);

/** Over everything but itself. */
export function digestOf(certificate: Omit<Certificate, 'digest'>): string {
  const { digest: _, ...rest }: Partial<Certificate> = certificate;
  return createHash('sha256').update(canonicalJson(rest)).digest('hex');
}

function checkDigest(certificate: Certificate, complain: Complain): void {
  const digest = digestOf(certificate);
  if (digest !== certificate.digest)
    complain('digest', certificate.digest, `the rest of the file gives ${digest}: it was changed`);
}

/** Ports of pods hang on switches of the networks that their objects name. */
function checkPods({ evidence, violations }: Certificate, graph: Graph, complain: Complain): void {
  const known = new Set(violations.map(({ where }) => where));
  const seen = new Set<string>();
  for (const [index, { port, corner, pod, network }] of evidence.pods.entries()) {
    const field = `evidence.pods[${index}]`;
    if (seen.has(port)) complain(`${field}.port`, port, 'is there twice');
    seen.add(port);
    const at = graph.corner(corner, `${field}.corner`);
    if (at === undefined || at.of === network) continue;
    if (!known.has(`Northbound Logical_Switch_Port ${port}`))
      complain(
        `${field}.network`,
        network,
        `${pod} hangs on ${at.name} of ${at.of ?? 'nobody'}, and no violation says so`,
      );
  }
}

/** Of a number that two have a violation has to tell. */
function checkIdentities(
  { networks, evidence, violations }: Certificate,
  complain: Complain,
): void {
  const told = violations.filter(({ check }) => check === 'identities');
  const holders = new Map<string, string>();
  for (const [index, { kind, value, holder }] of evidence.identities.entries()) {
    const key = JSON.stringify([kind, value]);
    const other = holders.get(key);
    holders.set(key, holder);
    if (other === undefined || other === holder) continue;
    const isTold = told.some(
      (one) => one.networks.includes(holder) || `${one.where} ${one.what} `.includes(` ${value}`),
    );
    if (!isTold)
      complain(
        `evidence.identities[${index}].value`,
        value,
        `this ${kind} is of ${other} and of ${holder}, and no violation says so`,
      );
  }
  for (const [index, { name, id }] of networks.entries())
    if (holders.get(JSON.stringify(['network id', String(id)])) === undefined)
      complain(`networks[${index}].id`, id, `identities have no such id of network ${name}`);
}

function checkSums(certificate: Certificate, parts: number, complain: Complain): void {
  const { evidence, sums, counts, networks, edges, violations } = certificate;
  const found: Readonly<Record<keyof typeof sums, number>> = {
    corners: evidence.corners.length,
    ways: evidence.ways.length,
    exits: evidence.exits.length,
    openings: evidence.openings.length,
    pods: evidence.pods.length,
    identities: evidence.identities.length,
    networks: networks.length,
    edges: edges.length,
    violations: violations.length,
    parts,
  };
  for (const [name, sum] of Object.entries(found) as [keyof typeof sums, number][])
    if (sums[name] !== sum) complain(`sums.${name}`, sums[name], `the certificate has ${sum}`);
  if (counts['networks'] !== networks.length)
    complain('counts.networks', counts['networks'], `the certificate has ${networks.length}`);
}

/** No part is more than its whole, and what packets and tracers differ in is left open. */
function checkWitnesses({ witnesses, undecided }: Certificate, complain: Complain): void {
  if (witnesses === undefined) return;
  const { packets, apart, dropped, joined, passed, logicalTraces, physicalTraces, real } =
    witnesses;
  const atMost = (field: string, found: number, most: number): void => {
    if (found < 0 || found > most) complain(`witnesses.${field}`, found, `of ${most} at most`);
  };
  atMost('logicalTraces', logicalTraces, packets);
  atMost('physicalTraces', physicalTraces, packets);
  atMost('apart', apart, packets - joined);
  atMost('dropped', dropped, apart);
  atMost('passed', passed, joined);
  if (real === undefined) return;
  const { nonce, sent, ...parts } = real;
  if (!/^0x[0-9a-f]{8}$/.test(nonce))
    complain('witnesses.real.nonce', nonce, 'is no sequence number in hexadecimal');
  atMost('real.sent', sent, physicalTraces);
  for (const [name, count] of Object.entries(parts)) atMost(`real.${name}`, count, sent);
  const { nowhere, toPods, toHost, toTunnels, outside, differing } = parts;
  if (nowhere + toPods + toHost + toTunnels + outside < sent)
    complain('witnesses.real.sent', sent, 'is more than came out anywhere and nowhere');
  if (undecided.length > 0) return;
  const open = 'undecided tells nothing of it';
  if (differing > 0) complain('witnesses.real.differing', differing, open);
  if (sent === 0 && physicalTraces > 0) complain('witnesses.real.sent', sent, open);
}

/** Pairs of networks: all, joined by an object, or named by a violation; and what follows. */
function checkVerdict(certificate: Certificate, complain: Complain): void {
  const { networks, joins, violations, pairs, undecided, verdict } = certificate;
  const names = new Set(networks.map(({ name }) => name));
  if (names.size !== networks.length)
    complain('networks', networks.length, 'a network is there twice');
  const pairsIn = (all: readonly string[]): string[] => {
    const here = [...new Set(all)].filter((name) => names.has(name)).sort();
    return here.flatMap((a, index) => here.slice(index + 1).map((b) => JSON.stringify([a, b])));
  };
  const joined = new Set(joins.flatMap((join) => pairsIn(join.networks)));
  const violated = new Set(
    violations.flatMap((one) => pairsIn(one.networks)).filter((pair) => !joined.has(pair)),
  );
  const all = (names.size * (names.size - 1)) / 2;
  const wanted = { all, connected: joined.size, apart: all - joined.size - violated.size };
  for (const name of ['all', 'connected', 'apart'] as const)
    if (pairs[name] !== wanted[name])
      complain(`pairs.${name}`, pairs[name], `from the rest follow ${wanted[name]}`);
  const follows =
    violations.length > 0 ? 'not apart' : undecided.length > 0 ? 'undecided' : 'apart';
  if (verdict !== follows)
    complain(
      'verdict',
      verdict,
      `from violations and undecided follows ${JSON.stringify(follows)}`,
    );
}
