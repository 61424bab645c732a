/** Host processes stay away from the default-network addresses of pods that have a primary network, but for kubelet (reference/node.md §3.6). */
import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import { feature, type Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { KUBELET_CGROUP } from './cgroup-names.ts';
import { concatenated, ipWord, NftRows } from './nft-rows.ts';
import { ofFamily } from './ruleset.ts';
import { plainAddress } from '../plain-address.ts';
import { SETTINGS } from '../../desired/rows.ts';

const CHAIN = 'udn-isolation';
const PODS = 'udn-pod-default-ips';
const OPEN_PORTS = 'udn-open-ports';
const OPEN_ICMP = 'udn-open-ports-icmp';
const ICMP = { v4: 'icmp', v6: 'ipv6-icmp' } as const;

export const isolationChain: Feature<ZoneFacts> = {
  name: 'nft/isolation',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    isolation: {
      text: 'Host processes reach the default-network address of a pod with a primary network only at ports that the pod opened.',
      source: 'reference/node.md §3.6',
    },
    kubelet: {
      text: 'kubelet reaches every pod: probes. Needs cgroup v2.',
      source: 'reference/node.md §3.6',
    },
  },
  claims: [],
  build({ settings }, _args, out) {
    const rows = new NftRows(out, SETTINGS, 'isolation');
    const kubelet = new NftRows(out, SETTINGS, 'kubelet');
    rows.chain(CHAIN);
    let order = 0;
    for (const family of clusterFamilies(settings)) {
      const daddr = `${ipWord(family)} daddr`;
      const pods = ofFamily(PODS, family);
      const open = ofFamily(OPEN_PORTS, family);
      const icmp = ofFamily(OPEN_ICMP, family);
      for (const name of [PODS, OPEN_ICMP, OPEN_PORTS] as const) rows.set(name, family);
      const add = (text: string, cgroup?: string): void => {
        (cgroup === undefined ? rows : kubelet).rule(text, {
          chain: CHAIN,
          text,
          order: (order += 1),
          ...(cgroup === undefined ? {} : { cgroup }),
        });
      };
      add(`${daddr} . meta l4proto . th dport @${open} accept`);
      add(`${daddr} @${icmp} meta l4proto ${ICMP[family]} accept`);
      add(`socket cgroupv2 level 2 "${KUBELET_CGROUP}" ${daddr} @${pods} accept`, KUBELET_CGROUP);
      add(`${daddr} @${pods} drop`);
    }
  },
};

export const isolatedPods = feature({
  name: 'nft/isolated-pod',
  over: ({ attachments }: ZoneFacts) => attachments,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: {
    pod: {
      text: 'A pod whose primary network is another one is known by its addresses on the default network, and by the ports that it opened there.',
      source: 'reference/node.md §3.6',
    },
  },
  claims: [],
  build(facts, [namespace, pod, nad], out) {
    const attachment = facts.attachments.get(namespace, pod, nad);
    if (attachment?.network !== DEFAULT_NETWORK || attachment.role !== 'infrastructure-locked')
      return;
    const rows = new NftRows(out, `Pod ${namespace}/${pod}`, 'pod');
    const families = new Set(clusterFamilies(facts.settings));
    for (const text of attachment.addresses) {
      const address = plainAddress(withoutPrefix(text));
      const family = familyOf(text);
      if (address === undefined || !families.has(family)) continue;
      rows.element({ set: ofFamily(PODS, family), element: address });
      for (const { protocol, port } of attachment.openDefaultPorts)
        if (port === undefined)
          rows.element({ set: ofFamily(OPEN_ICMP, family), element: address });
        else
          rows.element({
            set: ofFamily(OPEN_PORTS, family),
            element: concatenated(address, protocol, port),
          });
    }
  },
});
