/** Addresses of devices, with the routes that the kernel makes for them. */
import { bitsOf, formatPrefix, parsePrefix } from '../../allocators/addresses.ts';
import { addressKey, remembered, type AddressColumns, type LinuxRow } from './linux-rows.ts';
import { MAIN_TABLE, PROTOCOL } from '../numbers.ts';
import type { Wanted } from '../reconcile/claims.ts';
import type { LinuxCommand } from './linux-change.ts';
import { ADD, type LinuxDraft } from './linux-draft.ts';
import { connectedKey } from './linux-state.ts';

const addressText = ({ address, dev, deprecated }: AddressColumns): string =>
  `${address} dev ${dev}${deprecated === true ? ' deprecated' : ''}`;

const withoutAddress = (address: AddressColumns): LinuxCommand => ({
  kind: 'delete-address',
  address,
});

/** What the kernel reaches without a gateway once the address is there; undefined for an address that is alone. */
const connectedOf = remembered(({ dev, address }: AddressColumns) => {
  const network = parsePrefix(address);
  return network === undefined || network.length === bitsOf(network.family)
    ? undefined
    : connectedKey(formatPrefix(network), dev);
});

/** False if the kernel's route for the network of an address was removed; the address makes it when it comes. */
function isConnected(draft: LinuxDraft, columns: AddressColumns): boolean {
  const link = draft.state.links.get(columns.dev);
  if (link === undefined || !link.isUp || !link.hasCarrier || link.addresses.length === 0)
    return true;
  const network = connectedOf(columns);
  if (network === undefined) return true;
  const vrf = link.master === undefined ? undefined : draft.state.links.get(link.master);
  const networks = draft.state.connected.get(vrf?.table ?? MAIN_TABLE);
  return networks?.has(network) === true;
}

/** Addresses of devices. */
export function planAddresses(
  draft: LinuxDraft,
  wanted: readonly Wanted<LinuxRow & { readonly table: 'address' }>[],
): void {
  const keys = new Set(wanted.map(({ row }) => row.key));
  for (const one of wanted) {
    const columns = one.row.columns;
    const { dev, address } = columns;
    if (!draft.isUsable(dev)) continue;
    const all = draft.state.links.get(dev)?.addresses ?? [];
    const found = all.find((other) => other.columns.address === address);
    const text = addressText(columns);
    const isOurs = found?.protocol === PROTOCOL;
    const isRight = found !== undefined && addressText(found.columns) === text;
    const isRenewal = isRight && isOurs && !isConnected(draft, columns);
    if (found !== undefined && !isRenewal && (!isOurs || isRight)) continue;
    const add: LinuxCommand = { kind: 'add-address', address: columns };
    draft.change(one, {
      action: found === undefined ? 'add' : 'change',
      before: found && addressText(found.columns),
      after: text,
      stage: ADD.address,
      commands: found === undefined ? [add] : [withoutAddress(columns), add],
      stale: { kind: 'link', dev },
      ...(isRenewal ? { isRenewal } : {}),
    });
  }
  for (const { addresses } of draft.state.links.values())
    for (const { columns, protocol } of addresses) {
      const key = addressKey(columns);
      if (protocol === PROTOCOL && !keys.has(key))
        draft.remove(
          'address',
          key,
          addressText(columns),
          [withoutAddress(columns)],
          { kind: 'link', dev: columns.dev },
          draft.markOfDevice(columns.dev),
        );
    }
}
