//! Probes of the network: everything that talks to another process or host.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};

use super::{Attempt, Probe};
use crate::Tier;
use crate::raw::attempts::{self, families};

const REFUSED_BY_FILTER: Tier = Tier::Filtered;

pub(super) static PROBES: &[Probe] = &[
    Probe::new("tcp-connect", "connect to a TCP port of this host", REFUSED_BY_FILTER, |context| {
        let port = context.number("TCP_PORT")? as u16;
        Ok(TcpStream::connect(("127.0.0.1", port)).map(|_| Vec::new())?)
    }),
    Probe::new("tcp-listen", "listen on a TCP port", REFUSED_BY_FILTER, |_| {
        Ok(TcpListener::bind(("127.0.0.1", 0)).map(|_| Vec::new())?)
    }),
    Probe::new("udp-send", "send a datagram", REFUSED_BY_FILTER, |context| {
        let port = context.number("UDP_PORT")? as u16;
        let socket = UdpSocket::bind(("127.0.0.1", 0))?;
        Ok(socket.send_to(b"x", ("127.0.0.1", port)).map(|_| Vec::new())?)
    }),
    Probe::new("unix-abstract", "connect to a local socket without a file", REFUSED_BY_FILTER, |context| {
        let address = SocketAddr::from_abstract_name(context.get("ABSTRACT")?)?;
        Ok(UnixStream::connect_addr(&address).map(|_| Vec::new())?)
    }),
    Probe::new("unix-path", "connect to a local socket in a public folder", REFUSED_BY_FILTER, |context| {
        Ok(UnixStream::connect(context.public().join("socket")).map(|_| Vec::new())?)
    }),
    Probe::new("netlink", "open a netlink socket", REFUSED_BY_FILTER, |_| open(families::NETLINK))
        .possible_where("the kernel has netlink"),
    Probe::new("packet", "open a raw packet socket", REFUSED_BY_FILTER, |_| open(families::PACKET))
        .possible_where("the user is root"),
    Probe::new("vsock", "open a socket to the hypervisor", REFUSED_BY_FILTER, |_| open(families::VSOCK))
        .possible_where("the kernel has vsock"),
    Probe::new("alg", "open a socket to the kernel's ciphers", REFUSED_BY_FILTER, |_| open(families::ALG))
        .possible_where("the kernel has AF_ALG"),
];

fn open((family, kind): (i32, i32)) -> Attempt {
    Ok(attempts::socket(family, kind).map(|()| Vec::new())?)
}
