/** Where node ports and external addresses of services lead on the host, and for which network they are marked (node.md §3.3, §3.4). */
import { familyOf, nthAddress, type Family } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import type { Feature, Sink } from '../../desired/features.ts';
import type { PortBackends } from '../../model/backends.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import type { NodeGateway } from '../../model/model.ts';
import { clusterFamilies } from '../../model/network-addresses.ts';
import { DEFAULT_NETWORK } from '../../model/networks.ts';
import type { ServiceFacts, ServicePort } from '../../model/services.ts';
import { concatenated, ipWord, NftRows, ofFamily } from '../nft-rows.ts';
import { nftAddress } from './addresses.ts';
import { markChain } from './network-mark.ts';

interface Target {
  readonly address: string;
  readonly port: number;
}

/** What the elements of a service's port depend on. */
interface Context {
  readonly out: Sink;
  readonly service: ServiceFacts;
  readonly gateway: NodeGateway;
  readonly families: readonly Family[];
  readonly hostAddresses: ReadonlySet<string>;
  /** Address on this node by which packets for local endpoints go through the management port. */
  readonly locally: (family: Family) => string | undefined;
  /** Chain that marks for the service's network; none for the default one. */
  readonly mark: string | undefined;
}

export const serviceElements: Feature<ZoneFacts> = {
  name: 'nft/service',
  over: (facts) => facts.backends,
  // Of two networks that want one address the older one has it; what is wrong with a service is not the network's.
  rank: (facts, [network = '']) => facts.networks.part(network, 'id') ?? 0,
  rules: {
    external: {
      text: "A node port or external address leads to the service's cluster address.",
      source: 'node.md §3.3',
    },
    'externally-local': {
      text: "With a local external traffic policy it leads to endpoints of this node, which see the client's address.",
      source: 'node.md §3.3',
    },
    'internally-local': {
      text: 'With a local internal traffic policy what host processes send to the cluster address stays on this node.',
      source: 'node.md §3.3',
    },
    mark: {
      text: 'What is sent to a service of a primary network is marked for the network.',
      source: 'node.md §3.4',
    },
  },
  claims: [],
  build(facts, [network = '', key = ''], out) {
    const service = facts.services.get(key);
    const backends = facts.backends.get(network, key);
    const gateway = facts.own('gateway');
    const id = facts.rendered.part(network, 'id');
    const role = facts.rendered.part(network, 'role');
    if (service === undefined || backends === undefined || gateway === undefined) return;
    const isDefaultNetwork = network === DEFAULT_NETWORK;
    if (id === undefined || (role !== 'primary' && !isDefaultNetwork)) return;
    const { masqueradeSubnets } = facts.settings;
    const context: Context = {
      out,
      service,
      gateway,
      families: clusterFamilies(facts.settings),
      hostAddresses: new Set(
        (facts.own('hostAddresses') ?? []).map((one) => one.split('/')[0] ?? ''),
      ),
      locally: (family) => {
        const subnet = masqueradeSubnets[family];
        return subnet === undefined
          ? undefined
          : nthAddress(subnet, MASQUERADE_OFFSETS.hostEtpLocal);
      },
      mark: isDefaultNetwork ? undefined : markChain(id),
    };
    for (const [index, port] of service.ports.entries()) {
      const found = backends.ports[index];
      if (found !== undefined) buildPort(context, port, found);
    }
  },
};

function buildPort(context: Context, port: ServicePort, backends: PortBackends): void {
  const { out, service, gateway, families, mark, hostAddresses } = context;
  const by = (rule: string): NftRows => new NftRows(out, `Service ${service.key}`, rule);
  const protocol = port.protocol.toLowerCase();
  const nodePort = gateway.nodePortEnable ? port.nodePort : undefined;
  const clusterIps = addressesOf(context, service.clusterIps, 'clusterIPs');
  const externalIps = addressesOf(context, service.externalIps, 'external addresses');
  if (nodePort !== undefined) {
    const element = concatenated(protocol, nodePort);
    for (const [family, address] of clusterIps)
      by('external').element({
        set: ofFamily('nodeports', family),
        element,
        value: concatenated(address, port.port),
      });
    if (mark !== undefined)
      by('mark').element({ set: 'udn-mark-nodeports', element, value: `jump ${mark}` });
  }
  const ofFamilies = new Map(clusterIps);
  for (const [family, external] of externalIps) {
    const clusterIp = ofFamilies.get(family);
    if (clusterIp === undefined) continue;
    const element = concatenated(external, protocol, port.port);
    by('external').element({
      set: ofFamily('external-ips', family),
      element,
      value: concatenated(clusterIp, port.port),
    });
    if (mark !== undefined)
      by('mark').element({
        set: ofFamily('udn-mark-external-ips', family),
        element,
        value: `jump ${mark}`,
      });
  }
  const local = families.flatMap((family) => targetsIn(backends.local[family]));
  const onHost = local.find(({ address }) => hostAddresses.has(address));
  if (service.isExternallyLocal && onHost === undefined) {
    if (nodePort === undefined) buildWithoutNodePort(context, port, externalIps, local);
    else buildExternallyLocal(context, protocol, port.port, nodePort, externalIps);
  }
  if (!service.isInternallyLocal) return;
  for (const [family, address] of clusterIps) {
    const element = concatenated(address, protocol, port.port);
    const host = local.find(
      (target) => hostAddresses.has(target.address) && familyOf(target.address) === family,
    );
    if (host === undefined)
      by('internally-local').element({ set: ofFamily('itp-services-to-mark', family), element });
    else
      by('internally-local').element({
        set: ofFamily('itp-services-to-redirect', family),
        element,
        value: String(host.port),
      });
  }
}

function buildExternallyLocal(
  { out, service, gateway, families, locally }: Context,
  protocol: string,
  port: number,
  nodePort: number,
  externalIps: readonly (readonly [Family, string])[],
): void {
  const rows = new NftRows(out, `Service ${service.key}`, 'externally-local');
  const element = concatenated(protocol, nodePort);
  rows.element({ set: 'mgmtport-no-snat-nodeports', element });
  for (const family of gateway.mode === 'local' ? families : []) {
    const address = locally(family);
    const hasFamily = service.clusterIps.some((ip) => familyOf(ip) === family);
    if (address !== undefined && hasFamily)
      rows.element({
        set: ofFamily('nodeports-etp-local', family),
        element,
        value: concatenated(address, nodePort),
      });
  }
  for (const [family, external] of externalIps) {
    const address = locally(family);
    if (address !== undefined)
      rows.element({
        set: ofFamily('external-ips-etp-local', family),
        element: concatenated(external, protocol, port),
        value: concatenated(address, nodePort),
      });
  }
}

/** A load balancer without node ports: packets are spread over the local endpoints here. */
function buildWithoutNodePort(
  { out, service }: Context,
  port: ServicePort,
  externalIps: readonly (readonly [Family, string])[],
  local: readonly Target[],
): void {
  const rows = new NftRows(out, `Service ${service.key}`, 'externally-local');
  const protocol = port.protocol.toLowerCase();
  for (const [family, external] of externalIps) {
    const targets = local.filter(({ address }) => familyOf(address) === family);
    if (targets.length === 0) continue;
    rows.rule(concatenated(external, protocol, port.port), {
      chain: 'services-etp-no-nodeport',
      text: `${ipWord(family)} daddr ${external} ${protocol} dport ${port.port} ${spread(family, targets)}`,
      order: 0,
    });
    for (const target of targets)
      rows.element({
        set: ofFamily('mgmtport-no-snat-services', family),
        element: concatenated(target.address, protocol, target.port),
      });
  }
}

function spread(family: Family, targets: readonly Target[]): string {
  const [only] = targets;
  const ip = ipWord(family);
  if (targets.length === 1 && only !== undefined)
    return `dnat ${ip} to ${family === 'v6' ? `[${only.address}]` : only.address}:${only.port}`;
  const entries = targets.map(
    ({ address, port }, index) => `${index} : ${concatenated(address, port)}`,
  );
  return `dnat ${ip} to numgen random mod ${targets.length} map { ${entries.join(', ')} }`;
}

/** With their families; what is no address is a problem of the service. */
function addressesOf(
  { out, service, families }: Context,
  texts: readonly string[],
  what: string,
): readonly (readonly [Family, string])[] {
  return texts.flatMap((text) => {
    const address = nftAddress(text);
    if (address === undefined) {
      out.problem(
        `Service ${service.key}`,
        `${JSON.stringify(text)} among its ${what} is no IP address: the host sends nothing there; correct it`,
      );
      return [];
    }
    const family = familyOf(address);
    return families.includes(family) ? [[family, address] as const] : [];
  });
}

/** Targets of one family as load balancers list them: `10.0.0.1:80,[fd00::1]:80`. */
function targetsIn(text: string): readonly Target[] {
  if (text === '') return [];
  return text.split(',').flatMap((one) => {
    const colon = one.lastIndexOf(':');
    const address = nftAddress(one.slice(0, colon).replace(/^\[|\]$/g, ''));
    const port = Number(one.slice(colon + 1));
    return address === undefined ? [] : [{ address, port }];
  });
}
