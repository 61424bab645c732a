/** Edges of a certificate: each is there in its evidence, has an owner that wants it, and nothing leaves a part without one. */
import type { Certificate } from '../certificate/certificate.ts';
import type { Crossing, Graph } from './graph.ts';
import type { Complain } from './complaint.ts';

type ListedEdge = Certificate['edges'][number];

export function checkOwners(certificate: Certificate, graph: Graph, complain: Complain): void {
  const { evidence, edges, violations } = certificate;
  /** Edges by the row that they are of; what is left in the end has nothing that it stands for. */
  const open = new Map<string, number>();
  for (const [index, edge] of edges.entries()) {
    const key = keyOf(edge);
    if (open.has(key)) complain(`edges[${index}]`, edge.where, 'is there twice');
    open.set(key, index);
    checkOwner(edge, `edges[${index}]`, certificate, complain);
  }
  const byRow = Map.groupBy(edges, ({ where }) => where);
  const at = (where: string): readonly ListedEdge[] => byRow.get(where) ?? [];
  const told = new Set(violations.map(({ where }) => where));
  const take = (edge: ListedEdge | undefined): boolean =>
    edge !== undefined && open.delete(keyOf(edge));
  for (const crossing of graph.crossings) {
    const listed = crossing.way.by.flatMap(at).filter((edge) => isOf(edge, crossing));
    for (const edge of listed) take(edge);
    const { way, field, ends } = crossing;
    if (listed.length === 0 && !way.by.some((where) => told.has(where)))
      complain(
        `${field}.by`,
        way.by,
        `leads from ${ends[0].name} of ${ends[0].of ?? 'nobody'} to ${ends[1].name} of ${ends[1].of ?? 'nobody'}, and neither an edge with an owner nor a violation says so`,
      );
  }
  for (const [index, { corner, where, to }] of evidence.exits.entries()) {
    const home = graph.corner(corner, `evidence.exits[${index}].corner`);
    if (home === undefined) continue;
    const isExternal = home.name.startsWith('ext_') && to.startsWith('physical ');
    const target = isExternal ? 'outside' : to;
    const isListed = take(at(where).find((edge) => edge.from === home.of && edge.to === target));
    if (!isListed && !told.has(where))
      complain(
        `evidence.exits[${index}].where`,
        where,
        `leads from ${home.of ?? 'nobody'} to ${to}, and neither an edge with an owner nor a violation says so`,
      );
  }
  for (const [index, opening] of evidence.openings.entries()) {
    const edge = at(opening.where).find(
      ({ from, to, kind }) => from === opening.from && to === opening.to && OPENINGS.has(kind),
    );
    if (edge === undefined)
      complain(`evidence.openings[${index}].where`, opening.where, 'no edge says who wants it');
    else take(edge);
  }
  for (const index of open.values())
    complain(`edges[${index}].where`, edges[index]?.where, 'the evidence has no such way');
}

/** Kinds of edges of what rules let pass. */
const OPENINGS: ReadonlySet<string> = new Set(['service', 'access', 'open port']);

const keyOf = ({ from, to, kind, where, object }: ListedEdge): string =>
  JSON.stringify([from, to, kind, where, object]);

/** Whether an edge stands for a way between two owners: it is of one of its ports, and has its ends. */
function isOf({ kind, where, from, to, object }: ListedEdge, { way, ends }: Crossing): boolean {
  if (!way.by.includes(where)) return false;
  const owners = ends.map(({ of }) => of);
  if (!owners.includes(from)) return false;
  return kind === 'connection' ? to === object && owners.includes(object) : owners.includes(to);
}

/** Pods of the default network ask a port of their own node as somebody outside does: its service is of the network that they get to, and of no other. */
const isByNodePort = (from: string, where: string): boolean =>
  from === 'default' && where.endsWith(' of udn-node-ports');

/** The object of an edge is one that wants it: of a network its own, of two one that names both. */
function checkOwner(
  { kind, from, to, where, object }: ListedEdge,
  field: string,
  { networks, joins, users }: Certificate,
  complain: Complain,
): void {
  const wrong = (why: string): void => complain(`${field}.object`, object, why);
  if (object === '') return wrong('an edge has an owner');
  const wanted = [...joins, ...users].filter((owner) => owner.object === object);
  const has = (owners: typeof joins, a: string, b: string): boolean =>
    owners.some(
      (owner) =>
        owner.object === object && owner.networks.includes(a) && owner.networks.includes(b),
    );
  const isOfBoth = (a: string, b: string): boolean => has(wanted, a, b);
  switch (kind) {
    case 'connection':
      return has(joins, from, from) ? undefined : wrong(`joins has it not for network ${from}`);
    case 'namespace':
      return has(joins, from, to) ? undefined : wrong(`joins has it not for ${from} and ${to}`);
    case 'outside':
    case 'physical':
    case 'host':
      return networks.some((network) => network.name === from && network.object === object)
        ? undefined
        : wrong(`is not the object of network ${from}`);
    case 'service':
      return isOfBoth(from === 'outside' || isByNodePort(from, where) ? to : from, to)
        ? undefined
        : wrong(`neither joins nor users has it for ${from} and ${to}`);
    case 'access':
      return from === 'default' &&
        networks.some((network) => network.name === to && network.object === object)
        ? undefined
        : wrong(`is not the object of network ${to}, which lets the default network in`);
    case 'open port':
      return wanted.length > 0 && to === object
        ? undefined
        : wrong(`users has it not, or the edge leads to ${to}`);
    default:
      return complain(`${field}.kind`, kind, 'is no kind of edge');
  }
}
