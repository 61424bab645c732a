/** Ports that a pod's owner opened on the default network (reference/topology.md §17.1). */

import type { Attachment, OpenPort } from '../../model/model.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { podPort } from '../../model/rules/names.ts';
import { ACL_DEFAULT_ALLOW } from '../numbers.ts';
import type { Rows } from '../rows/unit-rows.ts';
import { addIsolationAcl } from './isolation-acl.ts';

const openPort = (port: OpenPort): string =>
  port.port === undefined ? port.protocol : `${port.protocol}.dst == ${port.port}`;

export function addOpenPortAcls(rows: Rows, attachment: Attachment): void {
  if (attachment.openDefaultPorts.length === 0) return;
  const { namespace, pod } = attachment;
  const name = `OpenPort-${namespace}/${pod}`;
  const port = podPort(DEFAULT_NETWORK, namespace, pod);
  addIsolationAcl(rows, name, {
    direction: 'Egress',
    priority: ACL_DEFAULT_ALLOW,
    action: 'allow',
    match: `inport == "${port}" && (arp || nd)`,
  });
  addIsolationAcl(rows, name, {
    direction: 'Ingress',
    priority: ACL_DEFAULT_ALLOW,
    action: 'allow-related',
    match: `outport == "${port}" && (arp || nd || (${attachment.openDefaultPorts.map(openPort).join(' || ')}))`,
  });
}
