#pragma once
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
