/** Whether what an EgressQoS or NetworkQoS asks for costs this node more than it may, on each network. */
import { FAMILIES } from '../../allocators/addresses.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { NetworkName } from '../model.ts';
import { ruleFlows } from '../rules/qos-cost.ts';
import type { PodSelection } from '../rules/selections.ts';
import type { SelectionTables } from './pod-selections.ts';
import type { QosKey, QosTables, QosUnit } from './qos.ts';
import type { ZoneBasis } from './zone-basis.ts';

export function qosCostTables(known: ZoneBasis & QosTables & SelectionTables) {
  const { graph, settings, qoses, qosPlacements } = known;

  function isTooCostly(network: NetworkName, ...key: QosKey): boolean {
    const { mostQosFlows: mostFlows } = settings.policies;
    const size = (of: typeof known.addressesOf, { id }: PodSelection): number =>
      FAMILIES.reduce((sum, family) => sum + of(network, id, family).size, 0);
    let flows = 0;
    for (const rule of qoses.get(...key)?.rules ?? []) {
      const sources = size(known.ownAddressesOf, rule.pods);
      const destinations = rule.to.reduce(
        (sum, to) => sum + (to.kind === 'pods' ? size(known.addressesOf, to.selection) : 0),
        0,
      );
      flows += ruleFlows(rule, { sources, destinations }, mostFlows);
      if (flows > mostFlows) return true;
    }
    return false;
  }

  return {
    qosCosts: new DerivedFacts(
      'qosCosts',
      graph,
      qosPlacements.distinct('unit'),
      (...unit: QosUnit) => ({ isTooCostly: isTooCostly(...unit) }),
      { object: (_network, kind, namespace, name) => `${kind} ${namespace}/${name}` },
    ),
  };
}
