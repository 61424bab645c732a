/** What a CNI plugin answers about a pod's interfaces (reference/node.md §6.3). */
import { familyOf } from '../../allocators/addresses.ts';
import type { Bandwidth } from '../../api/annotations/bandwidth-annotations.ts';
import type { PodRoute } from '../../api/annotations/pod-annotations.ts';
import { visibleLines, visibleText } from '../../api/visible-text.ts';
import { CNI_CODE, CniError } from './cni-error.ts';
import { CNI_VERSIONS, isAtLeast, type CniVersion } from './versions.ts';
import { errorText } from '../../api/error-text.ts';

/** One interface of a pod and its other end, which is plugged into br-int of the pod's node. */
export interface CniInterface {
  /** `eth0`, `ovn-udn1`, `net1` … */
  readonly device: string;
  readonly hostDevice: string;
  readonly mac: string;
  readonly mtu: number;
  /** On a physical network, whose routers may say that they are. */
  readonly isOnUnderlay: boolean;
  /** With prefix length. */
  readonly addresses: readonly string[];
  readonly gateways: readonly string[];
  readonly routes: readonly PodRoute[];
  /** Routes out of the network, where it is a secondary one with a gateway. */
  readonly wayOut?: WayOut;
  /** Of the port on br-int, by which ovn-controller finds the logical switch port. */
  readonly externalIds: Readonly<Record<string, string>>;
  /** `default` or `<namespace>/<nad>`. */
  readonly nadKey: string;
  /** True for the interface with the pod's default route. */
  readonly isPrimary: boolean;
  readonly bandwidth?: Bandwidth;
}

/** What answers with an address of another interface must not take: it would come from an address that the network does not know. */
export interface WayOut {
  /** Routing table of these routes in the pod. */
  readonly table: number;
  readonly routes: readonly PodRoute[];
  /** Addresses of the pod on its default and primary network, without prefix length. */
  readonly otherAddresses: readonly string[];
  /** Routing table of what has an address of this interface already, such as an answer to a client of a service. */
  readonly ownTable: number;
  /** These addresses, with prefix length, and where they leave. */
  readonly own: readonly { readonly address: string; readonly gateway: string }[];
}

/** The result of ADD: host end and pod end of each interface in turn; addresses refer to the pod's end. No routes, no DNS. */
export function addResult(
  version: CniVersion,
  interfaces: readonly (CniInterface & { readonly hostMac: string })[],
  netns: string,
): object {
  const mtuOf = ({ mtu }: CniInterface): object => (isAtLeast(version, '1.1.0') ? { mtu } : {});
  return {
    cniVersion: version,
    interfaces: interfaces.flatMap((one) => [
      { name: one.hostDevice, mac: one.hostMac, ...mtuOf(one) },
      { name: one.device, mac: one.mac, ...mtuOf(one), sandbox: netns },
    ]),
    ips: interfaces.flatMap(({ addresses, gateways }, index) =>
      addresses.map((address) => {
        const family = familyOf(address);
        const gateway = gateways.find((one) => familyOf(one) === family);
        return {
          // Left out from 1.0.0 on.
          ...(isAtLeast(version, '1.0.0') ? {} : { version: family === 'v4' ? '4' : '6' }),
          address,
          interface: 2 * index + 1,
          ...(gateway === undefined ? {} : { gateway }),
        };
      }),
    ),
  };
}

export const versionResult = (version: string): object => ({
  cniVersion: version,
  supportedVersions: CNI_VERSIONS,
});

/** The error object; what is no CniError is a failure of ours. */
export function errorResult(version: string, error: unknown): object {
  const message = errorText(error);
  const known = error instanceof CniError ? error : undefined;
  return {
    cniVersion: version,
    code: known?.code ?? CNI_CODE.failed,
    // The kubelet makes an event of it.
    msg: visibleText(message),
    ...(known?.details === undefined ? {} : { details: visibleLines(known.details) }),
  };
}
