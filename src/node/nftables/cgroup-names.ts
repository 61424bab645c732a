/** Names of cgroups, as kubelet and systemd give them. */

/** The cgroup that kubelet's unit has, wherever it is. */
export const KUBELET_CGROUP = 'kubelet.service';

/** The cgroup in which kubelet has those of all pods. */
export const PODS_CGROUP = 'kubepods';

const UID = /^[\da-zA-Z-]{1,63}$/;

/** The cgroup of a pod, by its uid; undefined for a uid that can't be in a name. */
export const podCgroup = (uid: string): string | undefined =>
  UID.test(uid) ? `pod${uid}` : undefined;

/**
 * Whether a folder is the cgroup of a name: kubelet calls it so itself, or has systemd make a slice, whose name begins with those of the slices
 * that it is in, with `_` for `-` (systemd.slice(5)).
 */
export const isCgroup = (folder: string, name: string): boolean =>
  folder === name ||
  folder === `${name}.slice` ||
  folder.endsWith(`-${name.replaceAll('-', '_')}.slice`);

/** Whether a folder is the cgroup of some pod: in it are those of its containers. */
export const isPodCgroup = (folder: string): boolean =>
  /(^|-)pod[\da-f]{8}([-_][\da-f]{4}){3}[-_][\da-f]{12}(\.slice)?$/.test(folder);
