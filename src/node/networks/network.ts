/** The host's side of a network, put together from parts. */
import { feature, type Feature, type Rule } from '../../desired/features.ts';
import { networkObject } from '../../model/zone/failed-facts.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { isDefault } from '../../model/rules/names.ts';
import { hasGateway } from '../../model/rules/network-addresses.ts';
import { hostNetwork, type HostPart, type HostSettings } from './host-network.ts';
import { HostRows } from '../host-rows.ts';
import { MANAGEMENT_CLAIMS, managementPort } from './management-port.ts';
import { neighbours } from './neighbours.ts';
import { routes } from './routes.ts';
import { rules } from './rules.ts';
import { sysctls } from './sysctls.ts';
import { vrf } from './vrf.ts';

/** In the order in which they build on each other. */
const PARTS: readonly HostPart[] = [managementPort, vrf, sysctls, routes, neighbours, rules];

/** The host's side of a network that has a gateway: a port on it, and a VRF that keeps it apart from all others. */
export const hostOfNetwork = (settings: HostSettings): Feature<ZoneFacts> =>
  feature({
    name: 'host/network',
    over: ({ rendered }: ZoneFacts) => rendered,
    objects: (facts, [network]) => [networkObject(facts, network)],
    rules: Object.assign({}, ...PARTS.map((part) => part.rules)) as Record<string, Rule>,
    claims: MANAGEMENT_CLAIMS,
    subject: (_facts, [network]) => network,
    build(facts, [name], out) {
      const network = facts.rendered.get(name);
      if (network === undefined || !hasGateway(network) || network.topology === 'localnet') return;
      const on = hostNetwork(facts, network, settings);
      if (on === undefined) {
        out.waitFor(`a subnet of network ${name} on node ${facts.nodeName}`);
        return;
      }
      const rows = new HostRows(out, network.object);
      // The host passes on what its gateway router has for services of connected networks, VRF or not.
      const parts = settings.hasVrfs || isDefault(network) ? PARTS : [neighbours];
      for (const part of parts) part.build(rows, on);
    },
  });
