/** What the host itself sends into the default network through its port gets the port's address, so that replies come back (reference/node.md §3.2). */
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { nodeRanges } from '../../model/rules/network-addresses.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { managementDevice } from '../names.ts';
import { ipWord, NftRows } from './nft-rows.ts';
import { ofFamily } from './ruleset.ts';
import { DEFAULT_NETWORK_ID } from '../numbers.ts';
import { SETTINGS } from '../../desired/rows.ts';

const CHAIN = 'mgmtport-snat';

export const managementPortSnat: Feature<ZoneFacts> = {
  name: 'nft/management-port-snat',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'management-port-snat': {
      text: "What the host itself sends into the default network through its port has the port's address, but for services that keep the client's. What it forwards keeps its own, and is judged by it.",
      source:
        'reference/node.md §3.2; linux/net/ipv4/ip_output.c, ip_output: what is forwarded has come in by a device',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const ranges = nodeRanges(facts.subnetsOn(DEFAULT_NETWORK, facts.nodeName));
    if (ranges.length === 0) {
      out.waitFor(`a subnet of network ${DEFAULT_NETWORK} on node ${facts.nodeName}`);
      return;
    }
    const rows = new NftRows(out, SETTINGS, 'management-port-snat');
    rows.chain(CHAIN);
    rows.rules(
      CHAIN,
      `oifname != "${managementDevice(DEFAULT_NETWORK_ID)}" return`,
      'meta iif != 0 return',
      'meta l4proto . th dport @mgmtport-no-snat-nodeports return',
      ...ranges.flatMap(({ family, management }) => {
        const ip = ipWord(family);
        return [
          `${ip} saddr ${management} return`,
          `${ip} daddr . meta l4proto . th dport @${ofFamily('mgmtport-no-snat-services', family)} return`,
          `snat ${ip} to ${management}`,
        ];
      }),
    );
  },
};
