/** What pods of the default network reach of primary networks on the host: services whose networks say so, by pods of namespaces that an administrator named. */
import { letsDefaultIn } from '../../api/annotations/network-annotations.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { objectKey } from '../../api/objects.ts';
import type { Findings, Headers } from '../findings.ts';
import type { Intent } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import { asPlain, contains, elementsOf, type NftRule, type NftTable } from '../nft-table.ts';
import type { Snapshot } from '../snapshot.ts';

const PODS = 'default-access-pods';
const SERVICES = 'default-access-services';
const MARKS = 'udn-mark-cluster-ips';

const FAMILIES = ['v4', 'v6'] as const;

const mentions = ({ expressions }: NftRule, set: string): boolean =>
  contains(expressions, (value) => value === `@${set}`);

export function checkDefaultAccess(
  snapshot: Snapshot,
  own: NftTable,
  intent: Intent,
  services: VerifiedServices,
  findings: Findings,
): void {
  checkPods(snapshot, own, intent, findings);
  checkServices(snapshot, own, intent, services, findings);
  for (const family of FAMILIES) checkRules(own, family, findings);
  checkEnds(own, findings);
}

function checkPods(
  { settings }: Snapshot,
  own: NftTable,
  intent: Intent,
  findings: Findings,
): void {
  const may = new Set(
    [...intent.ports.values()]
      .filter(
        ({ network, node, namespace, role }) =>
          network === DEFAULT_NETWORK &&
          node === intent.node &&
          role !== 'infrastructure-locked' &&
          settings.defaultAccess.includes(namespace),
      )
      .flatMap(({ addresses }) => addresses),
  );
  for (const family of FAMILIES)
    for (const { key } of elementsOf(own.sets.get(`${PODS}-${family}`)))
      if (!may.has(key.join(' ')))
        findings.wrong(
          'nftables',
          `${key.join(' ')} of ${PODS}-${family}`,
          'reaches services of primary networks, and is of no pod of this node in a namespace of default-network-access',
          'cluster',
          [DEFAULT_NETWORK],
        );
}

/** Networks all of whose NADs let the default network in. */
function openNetworks({ objects, settings }: Snapshot, intent: Intent): Set<VerifiedNetwork> {
  const asking = new Set(
    objects.attachmentDefinitions
      .filter(({ metadata }) => letsDefaultIn(metadata.labels))
      .map(({ metadata }) => objectKey(metadata)),
  );
  const open = intent.networks.filter(
    ({ role, nads }) =>
      role === 'primary' && nads.length > 0 && nads.every((nad) => asking.has(nad)),
  );
  return new Set(settings.defaultAccess.length === 0 ? [] : open);
}

function checkServices(
  snapshot: Snapshot,
  own: NftTable,
  intent: Intent,
  services: VerifiedServices,
  findings: Findings,
): void {
  const open = openNetworks(snapshot, intent);
  const reached = new Map<VerifiedNetwork, { readonly where: string; passes: Headers[] }>();
  for (const family of FAMILIES) {
    const sources = elementsOf(own.sets.get(`${PODS}-${family}`)).map(({ key }) => key.join(' '));
    for (const { key } of elementsOf(own.sets.get(`${SERVICES}-${family}`))) {
      const [address = '', protocol = '', port = ''] = key;
      const where = `${key.join(' . ')} of ${SERVICES}-${family}`;
      const service = services.byClusterAddress.get(address);
      const isPort = service?.opens.has(`${protocol} ${port}`) === true;
      const networks = [...(service?.networks ?? [])].map((name) => intent.byName.get(name));
      const network = networks.find((one) => one !== undefined && open.has(one));
      if (!isPort || network === undefined)
        findings.wrong(
          'nftables',
          where,
          `is reached from the default network, and is of ${!isPort ? 'no service' : 'a service whose network does not let it in'}`,
          service === undefined ? 'no object' : `Service ${service.key}`,
          [DEFAULT_NETWORK, ...(service?.networks ?? [])],
        );
      else {
        const known = reached.get(network) ?? { where, passes: [] };
        known.passes.push({ sources, destinations: [address], protocol, ports: [Number(port)] });
        reached.set(network, known);
      }
    }
  }
  for (const [network, { where, passes }] of reached)
    findings.edge({
      from: DEFAULT_NETWORK,
      to: network.name,
      kind: 'access',
      where,
      object: network.object,
      passes,
    });
}

/** What comes by a device gets the mark of a network by a cluster address for both sets alone; processes of the host get it without. */
function checkRules(own: NftTable, family: string, findings: Findings): void {
  const [pods, services] = [`${PODS}-${family}`, `${SERVICES}-${family}`];
  for (const rule of own.rules) {
    const isWay =
      (mentions(rule, `${MARKS}-${family}`) && rule.chain !== 'udn-service-output') ||
      (rule.accepts && (mentions(rule, pods) || mentions(rule, services)));
    if (isWay && !(mentions(rule, pods) && mentions(rule, services)))
      findings.wrong(
        'nftables',
        `nft rule ${rule.handle} of chain ${rule.chain}`,
        `leads to services of primary networks by their cluster addresses, and asks not for ${pods} and ${services} both`,
        'cluster',
        [DEFAULT_NETWORK],
      );
  }
}

const isEnd = ({ chain, drops, expressions }: NftRule, way: string): boolean =>
  chain === 'mgmtport-forward' &&
  drops &&
  contains(expressions, (value) => asPlain(asPlain(value)['meta'])['key'] === way) &&
  contains(expressions, (value) => asPlain(asPlain(value)['ct'])['dir'] === 'reply');

/** A connection that is not let in any more ends, whatever address it has by now. */
function checkEnds(own: NftTable, findings: Findings): void {
  for (const way of ['iifname', 'oifname'])
    if (!own.rules.some((rule) => isEnd(rule, way)))
      findings.wrong(
        'nftables',
        'chain mgmtport-forward',
        `does not drop what has an address of a primary network between the default network and others (${way})`,
        'cluster',
        [DEFAULT_NETWORK],
      );
}
