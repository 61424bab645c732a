/** rtnetlink, ctnetlink and what of generic netlink is needed, in process: see README.md. */
export * from './route/address.ts';
export * from './route/event.ts';
export * from './route/link.ts';
export * from './route/namespace.ts';
export * from './route/neighbour.ts';
export * from './route/route.ts';
export * from './route/rule.ts';
export * from './conntrack/connection.ts';
export * from './generic/ethtool.ts';
export { deviceSocket, type DeviceSocketOptions } from './socket/device-socket.ts';
export {
  FrameListener,
  type FilterInstruction,
  type FrameListenerOptions,
  type ReceivedFrame,
} from './socket/frame-listener.ts';
export { sendFrame, type FrameOptions } from './socket/frame-sender.ts';
export { NetlinkError } from './socket/netlink-error.ts';
export { NetlinkMonitor, type NetlinkMonitorOptions } from './socket/netlink-monitor.ts';
export {
  changeAll,
  changeInBackground,
  NetlinkSocket,
  type NetlinkSocketOptions,
} from './socket/netlink-socket.ts';
export { inNetworkNamespace } from './socket/network-namespace.ts';
export type { Family } from './wire/ip-text.ts';
export { MalformedMessage } from './wire/malformed.ts';
export type { NetlinkMessage } from './wire/message.ts';
export type { Query, Request } from './wire/request.ts';
