/** The annotation in which a pod's networks are shown to people and programs (Kubernetes network plumbing working group). Pure. */
import { withoutPrefix } from '../../allocators/addresses.ts';
import type { CniInterface } from './result.ts';

/** `network` is the name of the CNI configuration. */
export const networkStatus = (network: string, interfaces: readonly CniInterface[]): string =>
  JSON.stringify(
    interfaces.map(({ device, addresses, mac, isPrimary }) => ({
      name: network,
      interface: device,
      ips: addresses.map(withoutPrefix),
      mac,
      ...(isPrimary ? { default: true } : {}),
      dns: {},
    })),
  );
