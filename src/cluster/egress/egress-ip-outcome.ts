/** What is wrong with an EgressIP, in the reasons and texts of its events (reference/egress.md §1.1). Pure. */
import { formatAddress, parseAddress, type Address } from '../../allocators/addresses.ts';
import type { EgressAssignment } from '../../allocators/egress-addresses.ts';
import { labelSelectorProblem } from '../../api/label-selector.ts';
import type { EgressIP, Service } from '../../api/types.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { readService } from '../../model/read/services.ts';
import { formatValue } from '../../api/validation/field-errors.ts';
import { egressNodeSelector, isByLabel } from '../../model/rules/egress-node-selectors.ts';
import { closedRanges } from '../../api/validation/closed-ranges.ts';
import { rangeWith } from '../../model/rules/service-admission.ts';
import type { EgressNodeFacts } from './egress-nodes.ts';

export interface EgressProblem {
  readonly reason: string;
  readonly message: string;
}

/** Addresses of an object by their canonical form, and those that are none. */
export function requestedAddresses({ spec }: EgressIP): {
  readonly addresses: ReadonlyMap<string, Address>;
  readonly invalid: readonly string[];
} {
  const addresses = new Map<string, Address>();
  const invalid: string[] = [];
  for (const text of spec.egressIPs) {
    const address = parseAddress(text);
    if (address === undefined) invalid.push(text);
    else addresses.set(formatAddress(address), address);
  }
  return { addresses, invalid };
}

/** Addresses of an object that no node can have outside, by why not. */
export const insideAddresses = (
  egressIp: EgressIP,
  settings: ClusterSettings,
): ReadonlyMap<string, string> =>
  new Map(
    [...requestedAddresses(egressIp).addresses].flatMap(([address, parsed]) => {
      const range = rangeWith(parsed, closedRanges(settings));
      return range === undefined ? [] : [[address, `is in ${range.name} ${range.cidr}`]];
    }),
  );

/** Addresses by which a service is reached from outside, in canonical form. */
export const externalAddresses = (service: Service): readonly string[] =>
  (readService(service)?.externalIps ?? []).flatMap((text) => {
    const address = parseAddress(text);
    return address === undefined ? [] : [formatAddress(address)];
  });

export const EGRESS_IPS_OFF: EgressProblem = {
  reason: 'NotSupported',
  message:
    "EgressIPs are off (enable-egress-ip): this object is not in force, its pods keep their node's address as source",
};

/** Why no node has an address: in which words, by what selects its nodes. */
function noNode(egressIp: EgressIP, nodes: readonly EgressNodeFacts[]): string {
  const none = `no assignable nodes for EgressIP: ${egressIp.metadata.name}`;
  const byLabel = isByLabel(egressIp);
  if (nodes.length === 0)
    return byLabel
      ? `${none}, please tag at least one node with label: k8s.ovn.org/egress-assignable`
      : `${none}, no node matches its spec.egressNodeSelector`;
  const which = byLabel
    ? 'with label k8s.ovn.org/egress-assignable'
    : 'that matches its spec.egressNodeSelector';
  return `${none}, no node ${which} is ready: ${nodes.map((node) => node.name).join(', ')}`;
}

/** Why nothing of an object changes until it is corrected. */
export function whyUnread(egressIp: EgressIP): EgressProblem | undefined {
  const { name } = egressIp.metadata;
  const until = 'until then its addresses stay where they are, and others have no node';
  const wrong = labelSelectorProblem(egressNodeSelector(egressIp));
  if (wrong === undefined) return undefined;
  const message = `EgressIP ${name}: spec.egressNodeSelector: ${wrong}; ${until}`;
  return { reason: 'InvalidSelector', message };
}

/** Addresses of an object that stay at nodes where nothing leaves with them: `whyDown` says why. */
export function networkDownProblems(
  { metadata: { name } }: EgressIP,
  items: EgressAssignment['items'],
  whyDown: (node: string, address: string) => string | undefined,
): readonly EgressProblem[] {
  return items.flatMap(({ node, address }) => {
    const why = whyDown(node, address);
    return why === undefined
      ? []
      : {
          reason: 'EgressNetworkDown',
          message: `EgressIP ${name}: node ${node} holds ${address}, and nothing leaves with it: ${why}; no other node can have it: mend that, or let the EgressIP select another node in its network`,
        };
  });
}

/** A node that has addresses of an object, and whose daemon is away. */
export interface UnheardNode {
  readonly node: string;
  readonly addresses: readonly string[];
  /** Since when, in words. */
  readonly since: string;
  /** It is to let go of one of them. */
  readonly isLeaving: boolean;
  /** Its data plane has let go by itself. */
  readonly isFenced: boolean;
  /** Another node could have one of them, had it let go. */
  readonly mayMove: boolean;
}

function whatPodsDo({ isLeaving, isFenced, mayMove }: UnheardNode): string {
  if (isLeaving) return 'what is to move from there waits until it has let go';
  if (isFenced)
    return 'its data plane let go of what is at its bridge 30 s later, and nobody is known to be able to have it: pods send nothing out';
  const stays = 'pods keep their way, and nothing that changes reaches it';
  return mayMove ? stays : `no other node can have them: ${stays}`;
}

export function unheardNode({ metadata: { name } }: EgressIP, unheard: UnheardNode): EgressProblem {
  const { node, addresses, since } = unheard;
  return {
    reason: 'EgressNodeUnheard',
    message: `EgressIP ${name}: node ${node} holds ${addresses.join(', ')}, and ${since}: ${whatPodsDo(unheard)}; start the daemon, or, to move them, switch the node off first and then delete it`,
  };
}

/** `settings` say which addresses the cluster has for itself; `matching`: nodes that the object selects, whatever their state. */
export function egressProblems(
  egressIp: EgressIP,
  { items, unassigned }: EgressAssignment,
  settings: ClusterSettings,
  matching: () => readonly EgressNodeFacts[],
): readonly EgressProblem[] {
  const { name } = egressIp.metadata;
  const { invalid } = requestedAddresses(egressIp);
  const unread = whyUnread(egressIp);
  const problems = invalid.map((text): EgressProblem => ({
    reason: 'InvalidEgressIP',
    message: `egress IP: ${formatValue(text)} for object EgressIP: ${name} is not a valid IP address`,
  }));
  const inside = insideAddresses(egressIp, settings);
  const homeless: string[] = [];
  for (const [address, why] of unassigned) {
    const whyInside = inside.get(address);
    if (why.kind === 'no-node' && whyInside !== undefined)
      problems.push({
        reason: 'InvalidEgressIP',
        message: `egress IP: ${formatValue(address)} for object EgressIP: ${name} ${whyInside}, so no node has it outside; write an address of a network of the nodes`,
      });
    else if (why.kind === 'no-node') homeless.push(address);
    else if (why.kind === 'requested')
      problems.push({
        reason: 'UnsupportedRequest',
        message: `IP: ${JSON.stringify(address)} for EgressIP: ${name} is already allocated for EgressIP: ${why.by}${why.node === undefined ? '' : ` on ${why.node}`}`,
      });
    else if (why.kind === 'owned')
      problems.push({
        reason: 'EgressIPConflict',
        message: `Egress IP ${name} with IP ${address} is conflicting with ${why.by} and will not be assigned`,
      });
  }
  if (unread !== undefined) return [...problems, unread];
  if (homeless.length === 0) return problems;
  const nodes = matching();
  if (!nodes.some(({ isReady }) => isReady))
    problems.push({ reason: 'NoMatchingNodeFound', message: noNode(egressIp, nodes) });
  else if (items.length === 0)
    problems.push({
      reason: 'NoMatchingNodeFound',
      message: `No matching nodes found, which can host any of the egress IPs: [${homeless.join(' ')}] for object EgressIP: ${name}`,
    });
  else
    problems.push({
      reason: 'UnassignedRequest',
      message: `Not all egress IPs for EgressIP: ${name} could be assigned, please tag more nodes`,
    });
  return problems;
}
