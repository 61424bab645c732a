/** What becomes of an object by what each zone says of it: messages or conditions by zone, and their sum (reference/api.md §1.13). Pure. */
import {
  clusterNetworkPolicies,
  egressFirewalls,
  egressQoSes,
  externalRoutes,
  networkQoSes,
} from '../../api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../api/objects.ts';
import { clipped } from '../../api/visible-text.ts';
import type { ZoneAppliedObject, ZoneStatus } from '../../api/zone-status.ts';
import { isZoneCondition, zoneCondition } from '../connect/connect-readiness.ts';
import {
  conditionsOf,
  type StatedCondition,
  type StatusChange,
} from '../../store/status-writer.ts';

/** What one zone says of an object. */
export type ZoneWord =
  | { readonly kind: 'applied' | 'silent' }
  | { readonly kind: 'refused'; readonly messages: readonly string[] }
  /** Its list is full: it may be in force there or not. */
  | { readonly kind: 'unlisted'; readonly listed: number; readonly count: number };

/** By node. */
export type ZoneWords = ReadonlyMap<string, ZoneWord>;

interface Applied {
  readonly objects: ReadonlyMap<string, ZoneAppliedObject>;
  /** How many there are, also where not all are listed. */
  readonly count: number;
}

const NONE: Applied = { objects: new Map(), count: 0 };
const read = new WeakMap<ZoneStatus, Applied>();

/** Objects of an informer are never changed: each is looked through once. */
function appliedIn(zone: ZoneStatus | undefined): Applied {
  if (zone?.status?.applied === undefined) return NONE;
  const known = read.get(zone);
  if (known !== undefined) return known;
  const { applied, appliedCount: count = applied.length } = zone.status;
  const found = { objects: new Map(applied.map((one) => [one.object, one])), count };
  read.set(zone, found);
  return found;
}

const isFull = ({ objects, count }: Applied): boolean => count > objects.size;

/** Objects of which a zone says something else than before; `all` where it may be any: its first and last word, and a list that gets full. */
export function changedObjects(
  before: ZoneStatus | undefined,
  after: ZoneStatus | undefined,
): readonly string[] | 'all' {
  const [was, is] = [appliedIn(before), appliedIn(after)];
  if (before === undefined || after === undefined || isFull(was) !== isFull(is)) return 'all';
  const changed = [...is.objects].filter(([object, { generation, uid }]) => {
    const known = was.objects.get(object);
    return known?.generation !== generation || known.uid !== uid;
  });
  const gone = [...was.objects.keys()].filter((object) => !is.objects.has(object));
  return [...changed.map(([object]) => object), ...gone];
}

/** What a zone says of an object that it does not refuse, as the object is now. */
export function wordOf(
  zone: ZoneStatus | undefined,
  object: string,
  { metadata: { generation = 0, uid } }: KubeObject,
): ZoneWord {
  const applied = appliedIn(zone);
  const entry = applied.objects.get(object);
  if (entry?.generation === generation && entry.uid === uid) return { kind: 'applied' };
  return entry === undefined && isFull(applied)
    ? { kind: 'unlisted', listed: applied.objects.size, count: applied.count }
    : { kind: 'silent' };
}

/** So many zones at most have a message or condition each: an API server takes no larger objects. What is refused comes first. */
const MOST_ZONES = 1000;
/** Letters of what is refused, by zone. */
const MOST_TEXT = 512;

/** Texts of ovn-kubernetes (reference/api.md §1.13). */
interface Texts {
  readonly applied: string;
  readonly refused: string;
}
interface ConditionTexts extends Texts {
  /** Of a zone's condition. */
  readonly message: string;
  readonly reasons: readonly [applied: string, refused: string];
}

const FIREWALL: Texts = {
  applied: 'EgressFirewall Rules applied',
  refused: 'EgressFirewall Rules not correctly applied',
};
const EGRESS_QOS: ConditionTexts = {
  applied: 'EgressQoS Rules applied',
  refused: 'EgressQoS Rules not correctly applied',
  message: 'EgressQoS Rules applied',
  reasons: ['SetupSucceeded', 'SetupFailed'],
};
const NETWORK_QOS: ConditionTexts = {
  applied: 'NetworkQoS Destinations applied',
  refused: 'NetworkQoS Destinations not correctly applied',
  message: 'NetworkQoS was applied successfully',
  reasons: ['Success', 'Failed'],
};
/** As ovn-kubernetes says it of AdminNetworkPolicies. */
const CLUSTER_POLICY: ConditionTexts = {
  applied: 'Setting up OVN DB plumbing was successful',
  refused: 'error attempting to add ClusterNetworkPolicy',
  message: 'Setting up OVN DB plumbing was successful',
  reasons: ['SetupSucceeded', 'SetupFailed'],
};
const ROUTES: Texts = {
  applied: 'configured external gateway IPs',
  refused: 'failed to apply policy',
};

const unlistedText = ({ listed, count }: ZoneWord & { readonly kind: 'unlisted' }): string =>
  `not known: the ZoneStatus of the node lists ${listed} of ${count} objects that are in force there`;

const refusedText = (refused: string, messages: readonly string[]): string => {
  const text = messages.join('; ');
  return `${refused}: ${text.length > MOST_TEXT ? `${clipped(text, MOST_TEXT - 1)}…` : text}`;
};

/** Those that say something, what is refused first, else by name. */
function spoken(words: ZoneWords): readonly (readonly [node: string, word: ZoneWord])[] {
  const isRefused = ([, { kind }]: readonly [string, ZoneWord]): boolean => kind === 'refused';
  const all = [...words].sort(([a], [b]) => (a < b ? -1 : 1));
  return [...all.filter(isRefused), ...all.filter((entry) => !isRefused(entry))]
    .filter(([, { kind }]) => kind !== 'silent')
    .slice(0, MOST_ZONES);
}

const messagesOf = (words: ZoneWords, { applied, refused }: Texts): readonly string[] =>
  spoken(words).map(([node, word]) => {
    if (word.kind === 'refused') return `${node}: ${refusedText(refused, word.messages)}`;
    return `${node}: ${word.kind === 'unlisted' ? unlistedText(word) : applied}`;
  });

/** In force once every zone says so; refused as soon as one does. */
function sumOf(words: ZoneWords, { applied, refused }: Texts): string {
  const all = [...words.values()];
  if (all.some(({ kind }) => kind === 'refused')) return refused;
  return all.length > 0 && all.every(({ kind }) => kind === 'applied') ? applied : '';
}

function conditionOf(node: string, word: ZoneWord, texts: ConditionTexts): StatedCondition {
  const type = zoneCondition(node);
  const [succeeded, failed] = texts.reasons;
  if (word.kind === 'refused')
    return {
      type,
      status: 'False',
      reason: failed,
      message: refusedText(texts.refused, word.messages),
    };
  return word.kind === 'unlisted'
    ? { type, status: 'Unknown', reason: 'NotListed', message: unlistedText(word) }
    : { type, status: 'True', reason: succeeded, message: texts.message };
}

const conditionStatus = (
  words: ZoneWords,
  object: KubeObject,
  texts: ConditionTexts,
): StatusChange => ({
  conditions: spoken(words).map(([node, word]) => conditionOf(node, word, texts)),
  // `Programmed` is what earlier releases wrote.
  removed: conditionsOf(object)
    .map(({ type }) => type)
    .filter((type) => isZoneCondition(type) || type === 'Programmed'),
});

const qosStatus = (words: ZoneWords, object: KubeObject, texts: ConditionTexts): StatusChange => ({
  ...conditionStatus(words, object, texts),
  fields: { status: sumOf(words, texts) },
});

function routeStatus(words: ZoneWords, { status: before }: KubeObject, now: string): StatusChange {
  const sum = sumOf(words, ROUTES);
  const status = sum === ROUTES.applied ? 'Success' : sum === '' ? '' : 'Fail';
  const known = before as { status?: string; lastTransitionTime?: string } | undefined;
  return {
    conditions: [],
    fields: {
      status,
      messages: messagesOf(words, ROUTES),
      lastTransitionTime: known?.status === status ? (known.lastTransitionTime ?? now) : now,
    },
  };
}

type StatusOf = (words: ZoneWords, object: KubeObject, now: string) => StatusChange;

const STATUSES: ReadonlyMap<ResourceKind, StatusOf> = new Map<ResourceKind, StatusOf>([
  [
    egressFirewalls,
    (words) => ({
      conditions: [],
      fields: { status: sumOf(words, FIREWALL), messages: messagesOf(words, FIREWALL) },
    }),
  ],
  [egressQoSes, (words, object) => qosStatus(words, object, EGRESS_QOS)],
  [networkQoSes, (words, object) => qosStatus(words, object, NETWORK_QOS)],
  [externalRoutes, routeStatus],
  [clusterNetworkPolicies, (words, object) => conditionStatus(words, object, CLUSTER_POLICY)],
]);

/** The status of an object by what zones say; `now` as an API server writes it. Undefined for other kinds, and while no zone ever spoke. */
export function appliedStatus(
  kind: ResourceKind,
  object: KubeObject,
  words: ZoneWords,
  now: string,
): StatusChange | undefined {
  const isSilent = [...words.values()].every((word) => word.kind === 'silent');
  if (isSilent && object.status === undefined) return undefined;
  return STATUSES.get(kind)?.(words, object, now);
}
