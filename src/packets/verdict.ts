/** What the ways of a packet come to: whether it reaches whom it is for, why, and what would have to be another way. Pure. */
import { rootOf } from '../views/origin.ts';
import type { Protocol } from './asked-packet.ts';
import {
  featureOfOrigin,
  legEndText,
  ownerOf,
  type Decided,
  type Leg,
  type PacketReport,
  type Part,
} from './packet-report.ts';

/** Who is asked, as the verdict needs it. */
export interface Meant {
  /** `Pod red/db`, `Service red/db`, `Node n1`; absent for an address. */
  readonly object?: string;
  readonly namespace?: string;
  readonly network?: string;
  /** The address is one of pods of some network, which nobody outside of it has. */
  readonly isPodAddress: boolean;
  /** A subnet of its network and one of the sender's have addresses in common. */
  readonly overlaps: boolean;
  readonly address: string;
  readonly port?: number;
  readonly protocol: Protocol;
  readonly node?: string;
  /** Of a service, as its load balancer has them. */
  readonly endpoints: readonly string[];
  /** Policies of the namespace that close the pod to what comes to it. */
  readonly closedBy: readonly string[];
}

export interface Sender {
  readonly object: string;
  readonly namespace: string;
  readonly network: string;
  /** Policies of the namespace that close the pod to what it sends. */
  readonly closedBy: readonly string[];
}

export type Judgement = Pick<
  PacketReport,
  'verdict' | 'passesHere' | 'why' | 'stoppedBy' | 'remedies' | 'notes'
>;

/** One try: the way there, and back if it arrived. A service with several endpoints has several. */
export interface Try {
  readonly there: Leg;
  readonly back?: Leg;
}

const isArrived = ({ there, back }: Try): boolean =>
  there.end.kind === 'pod' &&
  there.end.isMeant &&
  back !== undefined &&
  // What comes back to the network the pod gets by its connection.
  (back.end.kind === 'returned' || (back.end.kind === 'pod' && back.end.isMeant));

/** The way is one that is known to lead to nobody who would answer. */
const isLost = ({ there, back }: Try, sender: Sender, meant: Meant): boolean => {
  const stops = [there, ...(back === undefined ? [] : [back])].some(
    ({ end }) => end.kind === 'stopped' || (end.kind === 'pod' && !end.isMeant),
  );
  if (stops) return true;
  if (!meant.isPodAddress || !areOther(sender, meant)) return false;
  // A network that is a physical one goes on outside.
  return there.end.kind === 'outside' || staysOn(sender, there);
};

/** It goes to another node on the network that it was sent on, and there to whoever has the address. */
const staysOn = ({ network }: Sender, { end }: Leg): boolean =>
  end.kind === 'node' && end.network === network;

/** The part of this node lets it pass, there and back. */
const isPassed = ({ there, back }: Try, part: Part, meant: Meant): boolean =>
  part === 'sends'
    ? there.end.kind === 'node' &&
      (meant.node === undefined || there.end.node === undefined || there.end.node === meant.node)
    : there.end.kind === 'pod' && there.end.isMeant && back?.end.kind === 'node';

/** Of tries that end in different ways nobody knows which one a connection gets. */
export function judged(
  tries: readonly Try[],
  part: Part,
  sender: Sender,
  meant: Meant,
  missing: readonly string[] = [],
): Judgement {
  const lost = tries.filter((one) => isLost(one, sender, meant));
  const none = { stoppedBy: [], remedies: [], notes: missing };
  const [first] = tries;
  if (first === undefined)
    return { verdict: "can't be decided here", why: 'No way was followed.', ...none };
  const [firstLost] = lost;
  if (firstLost !== undefined && lost.length === tries.length && missing.length === 0)
    return { ...stopped(lost, sender, meant), verdict: 'does not reach', passesHere: false };
  if (firstLost !== undefined && lost.length < tries.length)
    return {
      ...stopped(lost, sender, meant),
      verdict: "can't be decided here",
      why: `Some endpoints are reached and others are not: ${[...new Set(lost.map(whyLost))].join('; ')}.`,
      notes: missing,
    };
  if (firstLost !== undefined)
    return { ...stopped(lost, sender, meant), verdict: "can't be decided here", notes: missing };
  if (part === 'whole' && tries.every(isArrived) && missing.length === 0) {
    const many = new Set(tries.map(({ there: { end } }) => legEndText(end))).size;
    const why =
      many > 1
        ? `It arrives, whichever of ${many} endpoints it gets, and the answer comes back.`
        : 'It arrives, and the answer comes back.';
    return { verdict: 'reaches', passesHere: true, why, ...none };
  }
  if (part !== 'whole' && tries.every((one) => isPassed(one, part, meant))) {
    const [only, ...others] = meant.endpoints;
    const whom = only === undefined || others.length > 0 ? '' : ` for ${only}`;
    const why =
      first.there.end.kind === 'node' && first.there.end.isByHost === true
        ? `This node brings it to network ${first.there.end.network ?? 'of the service'}, and sends it through the tunnel as from that network's gateway router; what ${nodeOf(first, meant)} makes of it is not asked.`
        : part === 'sends'
          ? `This node sends it through the tunnel; what ${nodeOf(first, meant)} makes of it its own databases say: ask there, too${whom}.`
          : 'This node brings it from the tunnel to the pod, and the answer back to the tunnel; what the node of the pod that sends makes of it its own databases say: ask there, too.';
    return { verdict: "can't be decided here", passesHere: true, why, ...none };
  }
  const open = tries.find((one) => !isArrived(one)) ?? first;
  const leg = open.back !== undefined && open.there.end.kind === 'pod' ? open.back : open.there;
  return {
    verdict: "can't be decided here",
    why: `It ${leg.direction === 'back' ? 'arrives, and the answer ' : ''}${legEndText(leg.end)}${beyond(leg)}.`,
    ...none,
  };
}

const nodeOf = ({ there: { end } }: Try, meant: Meant): string => {
  const node = meant.node ?? (end.kind === 'node' ? end.node : undefined);
  return node === undefined ? 'the other node' : `node ${node}`;
};

function beyond({ end }: Leg): string {
  switch (end.kind) {
    case 'outside':
      return '; what is beyond this node nobody here knows';
    case 'host':
      return end.route === undefined
        ? '; what its routes, its firewall and its programs make of it is not in OVN'
        : '; what its firewall and its programs make of it is not in OVN';
    case 'node':
      return '; what is there its own databases say';
    default:
      return '';
  }
}

const whyLost = ({ there, back }: Try): string => {
  if (there.end.kind === 'stopped' || back === undefined) return `it ${legEndText(there.end)}`;
  return back.end.kind === 'stopped' || (back.end.kind === 'pod' && !back.end.isMeant)
    ? `it arrives, and the answer ${legEndText(back.end)}`
    : `it ${legEndText(there.end)}`;
};

/** What stops them, each once, and what would let them through. */
function stopped(
  tries: readonly Try[],
  sender: Sender,
  meant: Meant,
): Pick<Judgement, 'why' | 'stoppedBy' | 'remedies' | 'notes'> {
  const stops = tries.flatMap(({ there, back }) =>
    [there, ...(back === undefined ? [] : [back])].flatMap(({ end, direction }) =>
      end.kind === 'stopped' ? [{ by: end.by, isRefused: end.isRefused, direction }] : [],
    ),
  );
  const distinct = [...new Map(stops.map((stop) => [identityOf(stop.by), stop])).values()];
  const remedies = distinct.flatMap((stop) => remedyOf(stop, sender, meant) ?? []);
  const first = tries[0];
  const why = first === undefined ? '' : whySentence(first, sender, meant);
  const areApart = areOther(sender, meant) && distinct.every(({ by }) => isForNobody(by));
  return {
    why,
    stoppedBy: distinct.map(({ by }) => by),
    remedies: [...new Set([...remedies, ...(areApart ? [connection(sender, meant)] : [])])],
    notes: [],
  };
}

/** What joins two networks. */
const connection = ({ network }: Sender, meant: Meant): string =>
  meant.overlaps
    ? `other subnets for one of ${network} and ${meant.network}, which overlap, and then a ClusterNetworkConnect that selects both`
    : `a ClusterNetworkConnect that selects both networks, ${network} and ${meant.network}, with PodNetwork in its connectivity`;

/** Rows that people write rules with; switches and routers drop by themselves what is for nobody. */
const RULES = [
  'ACL',
  'Load_Balancer',
  'Logical_Router_Policy',
  'Logical_Switch_Port',
  'NAT',
  'QoS',
];
const isOfOvn = ({ place, origin }: Decided): boolean =>
  place === undefined && (origin === undefined || !RULES.includes(rootOf(origin).table));
/** Stages in which a switch or a router finds nobody with the address (ovn-northd(8)). */
const LOOKS_FOR_SOMEBODY =
  /^(ls_in_l2_lkup|ls_in_l2_unknown|lr_in_ip_routing|lr_in_ip_routing_ecmp|lr_in_arp_resolve)$/;
const isForNobody = (by: Decided): boolean => isOfOvn(by) && LOOKS_FOR_SOMEBODY.test(by.stage);

const identityOf = ({ origin, stage, match }: Decided): string =>
  origin?.madeOf.at(-1)?.uuid ?? origin?.uuid ?? `${stage} ${match}`;

function beyondOvn({ place, text }: Decided, object: string | undefined): string {
  if (place === 'kernel') return `the kernel of the node, which ${text}`;
  return `a flow of ${place}${text === undefined ? '' : `, ${text}`}${object === undefined ? '' : `; it is there for ${object === 'cluster' ? 'all networks' : object}`}`;
}

function whySentence(one: Try, sender: Sender, meant: Meant): string {
  const { there, back } = one;
  const stop = [there, back].find((leg) => leg?.end.kind === 'stopped');
  if (stop?.end.kind === 'stopped') {
    const { by, isRefused } = stop.end;
    const feature = featureOfOrigin(by.origin);
    if (isForNobody(by) && stop.direction === 'there')
      return `${areOther(sender, meant) ? `Networks ${sender.network} and ${meant.network} are apart: on` : 'On'} network ${sender.network} nobody has ${meant.address} (it is dropped in ${by.stage}).`;
    const object = ownerOf(by.origin);
    const who =
      by.place !== undefined
        ? beyondOvn(by, object)
        : object === undefined || isOfOvn(by)
          ? `OVN itself, in ${by.stage}`
          : object === 'cluster'
            ? `what keeps networks apart (${feature})`
            : closing(feature, by, sender, meant) || object;
    const sent = there.end.kind === 'outside' ? 'leaves' : 'arrives';
    const what = stop.direction === 'back' ? `It ${sent}, and the answer` : 'It';
    return `${what} is ${isRefused ? 'refused' : 'dropped'} by ${who}.`;
  }
  if (there.end.kind === 'pod' && !there.end.isMeant)
    return `On network ${sender.network} that is the address of ${there.end.object}, which gets it instead.`;
  if (back !== undefined && back.end.kind === 'pod' && !back.end.isMeant)
    return `It arrives, and the answer goes to ${back.end.object} instead.`;
  const whither = staysOn(sender, there)
    ? `on ${sender.network} it ${legEndText(there.end)}, to whoever has that address there`
    : `it ${legEndText(there.end)}, and outside nobody has that address`;
  return `Networks ${sender.network} and ${meant.network ?? 'of the pod'} are apart: ${whither}.`;
}

const areOther = ({ network }: Sender, meant: Meant): boolean =>
  meant.network !== undefined && meant.network !== network;

/** Direction in which an ACL keeps something from pods, as people see it. */
const directionOf = ({ stage }: Decided): 'Ingress' | 'Egress' =>
  stage.startsWith('ls_out_') ? 'Ingress' : 'Egress';

/** Pods are closed by the policies that select them together. */
function closing(feature: string | undefined, by: Decided, sender: Sender, meant: Meant): string {
  if (feature !== 'policy/default-deny') return '';
  return (directionOf(by) === 'Ingress' ? meant : sender).closedBy.join(', ');
}

interface Stop {
  readonly by: Decided;
  readonly isRefused: boolean;
  readonly direction: Leg['direction'];
}

/** The smallest change that would let it pass what stops it, in the words of objects; undefined where none is known. */
function remedyOf({ by }: Stop, sender: Sender, meant: Meant): string | undefined {
  // What a bridge or the kernel drops is not what the row says: another object changes nothing of it.
  if (by.place !== undefined) return undefined;
  const feature = featureOfOrigin(by.origin) ?? '';
  const object = ownerOf(by.origin) ?? '';
  const what =
    meant.protocol === 'icmp'
      ? 'everything (no policy names ICMP)'
      : `${meant.protocol} ${meant.port ?? ''}`.trim();
  if (feature === 'policy/default-deny' || feature === 'policy/rules') {
    const isIngress = directionOf(by) === 'Ingress';
    const { closedBy } = isIngress ? meant : sender;
    const peer = isIngress
      ? `from namespace ${sender.namespace}`
      : meant.namespace === undefined
        ? `to ${meant.address}`
        : `to namespace ${meant.namespace}`;
    const [policy] = closedBy;
    const where =
      policy ??
      `a NetworkPolicy that selects ${isIngress ? (meant.object ?? 'it') : sender.object}`;
    return `${isIngress ? 'ingress' : 'egress'} of ${what} ${peer}, allowed in ${where}`;
  }
  if (feature === 'policy/admin-policy')
    return `a rule that allows ${what} before the one that denies it, in ${object}`;
  if (feature === 'egress/firewall')
    return `a rule that allows ${meant.address} before the one that denies it, in ${object}`;
  if (feature === 'isolation/secondary-pods')
    return meant.network === 'default' || meant.object === undefined
      ? 'annotation k8s.ovn.org/open-default-ports on the pod that is closed on the default network, or its address on its primary network'
      : `the address of ${meant.object} on its primary network`;
  if (feature.startsWith('connect/'))
    return `PodNetwork in connectivity of ${object}: only its services are connected`;
  if (feature.startsWith('services/')) return `an endpoint that is ready, of ${object}`;
  if (feature === 'pods/port' || feature === 'layer2/remote-port')
    return 'an address of the packet that the pod has: its port takes no other';
  return undefined;
}
