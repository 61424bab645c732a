/** The row of a pod's port, wherever the pod is (reference/topology.md §14). */

import { withoutPrefix, type Family } from '../../allocators/addresses.ts';
import type { Sink } from '../../desired/features.ts';
import { RowReference, type Containment } from '../../desired/rows.ts';
import { nameProblem } from '../../model/rules/admission.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Attachment, Topology } from '../../model/model.ts';
import { isDefault, podPort } from '../../model/rules/names.ts';
import { NAD_ID, networkIds } from '../rows/object-ids.ts';
import type { Rows } from '../rows/unit-rows.ts';

/** Behind every network: no pod takes a name from infrastructure. */
export const POD_RANK = Number.MAX_SAFE_INTEGER;

/** The name of the pod's port. Rejects a pod that would harm others by its name. */
export function checkedPort(facts: ZoneFacts, attachment: Attachment, out: Sink): string {
  const { namespace, pod, nadKey } = attachment;
  const object = `Pod ${namespace}/${pod}`;
  const problem = nameProblem(namespace, pod, nadKey);
  if (problem !== undefined)
    out.reject(object, `pod ${JSON.stringify(`${namespace}/${pod}`)}: ${problem}`);
  const port = podPort(nadKey, namespace, pod);
  if (facts.isInfrastructurePort(port, pod))
    out.reject(
      object,
      `pod "${namespace}/${pod}": its port on "${nadKey}" would be "${port}", a name that another port has; rename the pod or its namespace`,
    );
  return port;
}

/** The port of a pod on `chassisId`; of type `remote` where the pod's zone is another one. */
export function addPodPort(
  rows: Rows,
  port: string,
  attachment: Attachment & {
    readonly topology: Topology;
    readonly isRemote?: boolean;
    /** Of a virtual machine that moves: whether packets pass here; a closed port has no addresses. */
    readonly isOpen?: boolean | undefined;
    /** Connections that it may have at a time; 0 for no limit. */
    readonly mostConnections?: number;
    /** What OVN answers the pod when it asks by DHCP, by family. */
    readonly dhcp?: ReadonlyMap<Family, string>;
    /** Rows without which it must not be. */
    readonly needs?: readonly RowReference[];
  },
  chassisId: string,
  ...containers: Containment[]
): void {
  const {
    namespace,
    network,
    nadKey,
    topology,
    tunnelId,
    isRemote = false,
    isOpen,
    mostConnections = 0,
    dhcp,
    needs = [],
  } = attachment;
  const answer = (family: Family): RowReference | undefined => {
    const key = dhcp?.get(family);
    return key === undefined ? undefined : new RowReference('DHCP_Options', key);
  };
  const address = [attachment.macAddress, ...attachment.addresses.map(withoutPrefix)].join(' ');
  rows.naming(
    needs,
    'Logical_Switch_Port',
    port,
    {
      name: port,
      type: isRemote ? 'remote' : undefined,
      up: isRemote ? true : undefined,
      enabled: isOpen,
      addresses: isOpen === false ? [] : [address],
      port_security: [address],
      dhcpv4_options: answer('v4'),
      dhcpv6_options: answer('v6'),
      options: {
        'iface-id-ver': attachment.podUid,
        'requested-chassis': chassisId,
        // The switch spans zones, which must agree on the keys of its ports.
        ...(topology === 'layer2' ? { 'requested-tnl-key': String(tunnelId) } : {}),
        // Of the port, not of its switch: the host's port there has the connections of all that the host serves.
        ...(mostConnections === 0 ? {} : { 'ct-zone-limit': String(mostConnections) }),
      },
      external_ids: {
        namespace,
        pod: 'true',
        ...networkIds({ name: network, topology }),
        ...(isDefault({ name: network }) ? {} : { [NAD_ID]: nadKey }),
      },
    },
    ...containers,
  );
}
