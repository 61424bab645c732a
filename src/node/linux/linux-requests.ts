/** What the kernel is asked for a command. Pure. */
import {
  addAddress,
  addLink,
  ADDRESS_FLAG,
  addRoute,
  addRule,
  deleteAddress,
  deleteLink,
  deleteNeighbour,
  deleteRoute,
  deleteRule,
  FOREVER,
  replaceNeighbour,
  ROUTE_TYPE,
  setLink,
  type NewAddress,
  type NewRoute,
  type NewRule,
  type Request,
} from 'rtnetlink-ts';
import { familyOf } from '../../allocators/addresses.ts';
import { EGRESS_FENCE } from '../../model/rules/egress-health.ts';
import { PROTOCOL, PROTOCOL_KERNEL } from '../numbers.ts';
import type { LinuxCommand } from './linux-change.ts';
import {
  metricOf,
  SEVERAL_HOPS,
  type AddressColumns,
  type RouteColumns,
  asHostIfBare,
  type RuleColumns,
} from './linux-rows.ts';

/** The number that a device has now. Throws for one that is not there. */
export type IndexOf = (dev: string) => number;

/** Nobody else has the addresses that we give: no need to look for duplicates before they work. */
export const newAddress = (
  { dev, address, deprecated = false, isLeased = false }: AddressColumns,
  indexOf: IndexOf,
): NewAddress => {
  const valid = isLeased ? EGRESS_FENCE / 1000 : FOREVER;
  const preferred = deprecated ? 0 : valid;
  return {
    device: indexOf(dev),
    address,
    protocol: PROTOCOL,
    ...(familyOf(address) === 'v6' ? { flags: ADDRESS_FLAG.noDad } : {}),
    ...(preferred === FOREVER ? {} : { lifetimes: { preferred, valid } }),
  };
};

function routeType(type: RouteColumns['type'] = `${ROUTE_TYPE.unicast}`): number {
  return type === 'unreachable' || type === 'local' ? ROUTE_TYPE[type] : Number(type);
}

function newRoute(route: RouteColumns, indexOf: IndexOf): NewRoute {
  const { family, table, dst, type, via, dev, onlink = false, src, mtu } = route;
  const everything = family === 'v6' ? '::/0' : '0.0.0.0/0';
  const hop = {
    ...(via === undefined || via === SEVERAL_HOPS ? {} : { via }),
    ...(dev === undefined ? {} : { device: indexOf(dev), isOnLink: onlink }),
  };
  return {
    destination: dst === 'default' ? everything : dst,
    table,
    type: routeType(type),
    protocol: PROTOCOL,
    metric: metricOf(route),
    ...(src === undefined ? {} : { preferredSource: src }),
    ...(mtu === undefined ? {} : { metrics: { mtu } }),
    hops: Object.keys(hop).length === 0 ? [] : [hop],
  };
}

const newRule = ({
  family,
  priority,
  fwmark,
  from,
  to,
  sport,
  l3mdev = false,
  table,
  isKernels,
}: RuleColumns): NewRule => ({
  family,
  priority,
  isL3mdev: l3mdev,
  protocol: isKernels === true ? PROTOCOL_KERNEL : PROTOCOL,
  ...(table === undefined ? {} : { table }),
  ...(fwmark === undefined ? {} : { mark: Number(fwmark) }),
  ...(from === undefined ? {} : { source: asHostIfBare(from) }),
  ...(to === undefined ? {} : { destination: asHostIfBare(to) }),
  ...(sport === undefined ? {} : { sourcePort: sport }),
});

/** Throws RangeError for what can't be asked, and what `indexOf` throws. */
export function linuxRequest(command: LinuxCommand, indexOf: IndexOf): Request {
  switch (command.kind) {
    case 'add-vrf':
      return addLink({ name: command.name, kind: { kind: 'vrf', table: command.table } });
    case 'set-link': {
      const { name, isUp, alias, master } = command;
      return setLink(name, {
        ...(isUp === undefined ? {} : { isUp }),
        ...(alias === undefined ? {} : { alias }),
        ...(master === undefined ? {} : { master: master === '' ? 0 : indexOf(master) }),
      });
    }
    case 'delete-link':
      return deleteLink(command.name);
    case 'add-address':
      return addAddress(newAddress(command.address, indexOf));
    case 'delete-address': {
      const { dev, address } = command.address;
      return deleteAddress({ device: indexOf(dev), address });
    }
    case 'add-route':
      return addRoute(newRoute(command.route, indexOf));
    case 'delete-route':
      return deleteRoute(newRoute(command.route, indexOf));
    case 'add-rule':
      return addRule(newRule(command.rule));
    case 'delete-rule':
      return deleteRule(newRule(command.rule));
    case 'replace-neighbour': {
      const { dev, address, mac } = command.neighbour;
      return replaceNeighbour({ device: indexOf(dev), address, mac, protocol: PROTOCOL });
    }
    case 'delete-neighbour': {
      const { dev, address } = command.neighbour;
      return deleteNeighbour({ device: indexOf(dev), address });
    }
  }
}
